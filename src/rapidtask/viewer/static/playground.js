// The playground: a person plays the watched world against an agent that runs in the page.

const KEYS = {
  ArrowUp: ["up", "forward"], w: ["up", "forward"], ArrowDown: ["down"], s: ["down"],
  ArrowLeft: ["left"], a: ["left"], ArrowRight: ["right"], d: ["right"], " ": ["collect"], c: ["collect"],
};

class PlayView {
  constructor(root) {
    Object.assign(this, { root, world: WORLD, seed: DATA.seed, reveal: false });
    this.opponents = [
      ...RUNS.filter(run => run.network).map(run => ({ name: run.name, make: random => networkOpponent(run.network, random), run })),
      { name: "oracle", make: oracleOpponent },
    ];
    this.opponent = this.opponents[0];
    this.status = html("div", { class: "card versus", id: "play-score" });
    this.views = html("div", {});
    this.boards = html("div", { class: "boards" });
    this.pad = html("div", { class: "pad" });
    this.about = html("p", { class: "hint", id: "play-about" });
    root.append(this.status, this.views, this.boards, html("div", { class: "controls" }, html("div", { class: "card" }, this.pad), this.makeOptions()), this.about);
    this.makePad();
    this.start();
  }

  makePad() {
    const { world } = this;
    this.pad.replaceChildren(...world.actions.map((name, action) => html("button", {
      class: `key key-${name.replace(/\W/g, "-")}`, "data-action": action, title: name, onclick: () => this.act(action),
    }, actionIcon(world, action), html("small", {}, name))));
  }

  makeOptions() {
    const select = html("select", { id: "opponent", "aria-label": "opponent", onchange: () => {
      this.opponent = this.opponents[select.selectedIndex];
      this.start();
    } }, ...this.opponents.map(opponent => html("option", {}, `against ${opponent.name}`)));
    const reveal = html("input", { type: "checkbox", id: "reveal", onchange: () => { this.reveal = reveal.checked; this.show(); } });
    return html("div", { class: "card options" }, select,
      html("label", {}, reveal, " show the whole map"),
      html("button", { class: "plain", id: "again", onclick: () => this.start() }, "Again"),
      DATA.world.shuffles ? html("button", { class: "plain", id: "new-world", onclick: () => this.newWorld() }, "New world") : null);
  }

  start() {
    const { world } = this, [run] = RUNS;
    const random = makeRandom(this.seed + 77), fresh = world !== WORLD;
    const place = fresh ? Math.floor(random() * world.numStates) : run.place[0];
    const goal = fresh ? (place + 1 + Math.floor(random() * (world.numStates - 1))) % world.numStates : run.goal[0];
    this.game = new Game(world, place, goal, this.opponent.make, this.seed);
    this.maps = [makeMap(world), makeMap(world)];
    this.names = ["You", this.opponent.name];
    this.boards.replaceChildren(...this.maps.map((map, i) => html("div", { class: `card board ${i ? "theirs" : "yours"}` },
      html("div", { class: "panel-head" }, html("i", { class: "dot" }), html("strong", {}, this.names[i]), html("span", { class: "note" })), map.root)));
    this.show();
  }

  // The same places with other symbols: a world that nobody has seen.
  newWorld() {
    this.seed = Math.floor(Math.random() * 2 ** 31);
    const random = makeRandom(this.seed), labels = DATA.world.alphabet.map((_, i) => i);
    for (let i = labels.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [labels[i], labels[j]] = [labels[j], labels[i]];
    }
    this.world = WORLD.relabelled(labels.slice(0, WORLD.numStates));
    this.start();
  }

  act(action) {
    this.game.step(action);
    this.show();
  }

  key(event) {
    const names = KEYS[event.key] ?? [], digit = Number(event.key) - 1;
    let action = this.world.actions.findIndex(name => names.includes(name));
    // Digits name actions that have no key of their own; 1 to 3 change the view otherwise.
    if (action < 0 && this.world.map.kind === "graph" && digit >= 0 && digit < this.world.actions.length) action = digit;
    if (action < 0) return false;
    this.act(action);
    return true;
  }

  show() {
    const { game, world } = this, sides = [game.person, game.agent];
    this.maps.forEach((map, i) => {
      const side = sides[i], seen = this.reveal ? null : game.person.seen;
      map.draw({
        place: side.place, goal: !seen || seen.has(side.goal) ? side.goal : null, trail: side.trail, known: [],
        values: null, seen, hides: true, lit: side.completed,
      });
      const known = i === 0 || !seen || seen.has(side.place);
      if (!known) map.text?.replaceChildren("?");
      const note = side.completed ? "goal!" : i ? (game.thought ? `went ${world.actions[game.thought.action]}` : "") : "";
      this.boards.children[i].querySelector(".note").textContent = note;
      this.boards.children[i].classList.toggle("scored", side.completed);
    });
    this.showScore(sides);
    this.pad.querySelectorAll("button").forEach(button => { button.disabled = game.over; });
    this.about.textContent = this.aboutText();
  }

  showScore([person, agent]) {
    this.views.replaceChildren(viewPair(person.place, person.goal) ?? "");
    const { game, world } = this, left = world.steps - person.steps;
    const result = person.goals > agent.goals ? "You win" : person.goals < agent.goals ? `${this.names[1]} wins` : "A draw";
    const middle = game.over ? html("div", { class: "ask result", id: "result" }, html("b", {}, `${result} ${person.goals} : ${agent.goals}`))
      : html("div", { class: "ask" }, "you are on ", html("b", { class: "here" }, world.symbol(person.place)),
        person.place === person.goal && world.collect !== null ? " – collect it! (space)" : " – find ", person.place === person.goal ? "" : html("b", { class: "want" }, world.symbol(person.goal)));
    this.status.replaceChildren(
      html("div", { class: "tally yours" }, html("b", { id: "your-goals" }, String(person.goals)), html("span", {}, "you")),
      html("div", { class: "middle" }, middle, html("small", { id: "steps-left" }, game.over ? "the episode is over" : `${left} steps left`)),
      html("div", { class: "tally theirs" }, html("b", { id: "agent-goals" }, String(agent.goals)), html("span", {}, this.names[1])));
  }

  aboutText() {
    const keys = this.world.map.kind === "streets" ? "Arrow keys: forward and turns" : "Arrow keys to move";
    const collect = this.world.collect === null ? "" : ", space to collect";
    const start = `${keys}${collect}. Both get the same tasks, and a step each; what you have not visited is hidden.`;
    if (!this.opponent.run) return `${start} The oracle knows the map: nobody can be quicker.`;
    this.difference ??= new Map();
    const { run } = this.opponent;
    if (!this.difference.has(run)) this.compare(run);
    const difference = this.difference.get(run), weights = run.network.num_weights.toLocaleString("en");
    return `${start} ${run.name} runs in this page: ${weights} weights, its probabilities `
      + (difference === null ? "are being compared with those recorded." : `at most ${difference.toExponential(0)} from those recorded.`);
  }

  // Compare the page's network with the recorded probabilities, a little at a time: a game may go on meanwhile.
  compare(run) {
    this.difference.set(run, null);
    const steps = replaySteps(run);
    let t = 0, largest = 0;
    const work = () => {
      const until = performance.now() + 12;
      while (performance.now() < until) {
        const { value: row, done } = steps.next();
        if (done) {
          this.difference.set(run, largest);
          this.about.textContent = this.aboutText();
          return;
        }
        row.forEach((p, a) => { largest = Math.max(largest, Math.abs(p - run.probability[t][a])); });
        t += 1;
      }
      setTimeout(work, 8);
    };
    setTimeout(work, 50);
  }
}
