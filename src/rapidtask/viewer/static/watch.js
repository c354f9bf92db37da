// The watch view: one agent's episode, its memory, its planner, its choice.

class WatchView {
  constructor(root, player) {
    Object.assign(this, { root, player, run: RUNS[0], layers: { values: true, memory: true, trail: true } });
    this.map = makeMap(WORLD);
    this.iteration = this.run.iterations ?? 0;
    this.parts = {};
    const part = (name, tag = "div", attributes = {}) =>
      (this.parts[name] = html(tag, { ...attributes, id: `watch-${name}` }));
    root.append(
      html("div", { class: "columns" },
        html("div", { class: "card world-card" }, part("head", "div", { class: "card-head" }), this.map.root, part("planner")),
        html("div", { class: "side" }, part("score", "div", { class: "card score" }),
          this.card("What it is about to do", part("actions")),
          this.card("Memory", part("memory")), this.card("Steps per task", part("tasks")))));
    this.parts.head.append(this.makeChooser(), this.makeLayers());
    this.makePlanner();
  }

  card(title, ...content) { return html("div", { class: "card" }, html("h2", {}, title), ...content); }

  makeChooser() {
    if (RUNS.length === 1) return html("strong", { class: "agent-name" }, this.run.name);
    const select = html("select", { "aria-label": "agent", onchange: () => this.choose(RUNS[select.selectedIndex]) },
      ...RUNS.map(run => html("option", {}, run.name)));
    return select;
  }

  makeLayers() {
    const names = { values: "Value map", memory: "Memory", trail: "Trail" };
    return html("div", { class: "chips" }, ...Object.entries(names).map(([layer, name]) =>
      html("button", {
        class: "chip", "data-layer": layer, "aria-pressed": this.layers[layer], onclick: event => {
          this.layers[layer] = !this.layers[layer];
          event.currentTarget.setAttribute("aria-pressed", this.layers[layer]);
          this.show(this.player.t);
        },
      }, name)));
  }

  choose(run) {
    this.run = run;
    this.iteration = run.iterations ?? 0;
    this.makePlanner();
    this.player.refresh();
  }

  makePlanner() {
    const { run } = this, map = run.valueMap;
    if (!map) {
      this.parts.planner.replaceChildren(html("p", { class: "hint" }, "No planner over memory rows to look into: no value map."));
      return;
    }
    this.slider = html("input", {
      type: "range", id: "iteration", min: 0, max: run.iterations, step: 1, value: this.iteration,
      oninput: () => this.setIteration(Number(this.slider.value)), "aria-label": "planner iteration",
    });
    this.sliderText = html("output", { id: "iteration-text" });
    this.agreement = html("p", { class: "hint" });
    this.parts.planner.replaceChildren(
      html("div", { class: "planner" }, html("label", { for: "iteration", title: "[ and ]" }, "Planner iteration"), this.slider, this.sliderText,
        html("span", { class: "legend" }, "far", html("i", {}), "goal")),
      this.agreement);
  }

  setIteration(iteration) {
    if (!this.run.valueMap) return;
    this.iteration = Math.max(0, Math.min(this.run.iterations, iteration));
    this.slider.value = this.iteration;
    this.show(this.player.t);
  }

  show(t) {
    const { run, map, layers } = this;
    const known = run.knownAt(t), values = layers.values ? run.valuesAt(t, this.iteration) : null;
    map.draw({
      place: run.place[t], goal: run.goal[t], trail: layers.trail ? run.trailAt(t) : [],
      known: layers.memory ? known : [], values, noPath: run.valueMap?.no_path,
      seen: new Set(run.place.slice(0, t + 1)), lit: t > 0 && run.completed[t - 1] === 1,
    });
    this.showPlanner();
    this.showScore(t);
    this.parts.actions.replaceChildren(
      t < run.steps ? actionBars(WORLD, run.probability?.[t], run.action[t]) : html("p", { class: "hint" }, "The episode is over."),
      run.value && t < run.steps ? html("p", { class: "hint" }, `expects a discounted reward of ${run.value[t].toFixed(2)}`) : "");
    this.showMemory(t, known);
    this.parts.tasks.replaceChildren(taskChart(run, t), html("p", { class: "hint keys" },
      html("span", {}, html("i", { class: "swatch used" }), "steps used"), html("span", {}, html("i", { class: "swatch shortest" }), "shortest path")));
  }

  showPlanner() {
    const map = this.run.valueMap;
    if (!map) return;
    const right = Math.round(100 * map.agreement[this.iteration]), chance = Math.round(100 * map.chance);
    this.sliderText.textContent = this.iteration === 0 ? "before" : `${this.iteration} of ${this.run.iterations}`;
    this.agreement.textContent = `${WORLD.map.kind === "torus" ? "Colour and numbers" : "Colour"}: moves to the goal, read from the planner's rows by a linear read-out `
      + `(fitted on ${map.fitted_steps} steps of other episodes; right for ${right}% of rows here, guessing ${chance}%).`;
  }

  showScore(t) {
    const { run } = this, task = run.taskAt(t), symbol = run.world.symbol(run.goal[t]);
    const taken = t - task.start, shortest = task.shortest;
    const seen = run.place.slice(0, t + 1).indexOf(run.goal[t]);
    const called = (state, note) => WORLD.name(state) ? `${WORLD.name(state)}: ${note}` : note;
    const fact = (label, value, note, id) => html("div", { class: "fact", id }, html("b", {}, value), html("span", {}, label), html("small", {}, note));
    this.parts.score.replaceChildren(
      fact("goals", String(run.goalsAt[t]), `of ${run.goalsAt.at(-1)} in the end`, "fact-goals"),
      fact("steps in this task", String(taken), `shortest ${shortest}`, "fact-task"),
      fact("on", WORLD.symbol(run.place[t]), called(run.place[t], "all it sees"), "fact-here"),
      fact("goal", symbol, called(run.goal[t], seen < 0 ? "not seen yet" : `seen at step ${seen}`), "fact-goal"),
      viewPair(run.place[t], run.goal[t]) ?? "");
  }

  showMemory(t, known) {
    const { run } = this, all = run.world.numStates * run.world.actions.length;
    const states = new Set(run.place.slice(0, t + 1)).size;
    this.sizes ??= new Map();
    if (!this.sizes.has(run)) {
      const sizes = new Array(run.steps + 1).fill(0);
      for (const since of run.firstKnown.values()) for (let i = since; i <= run.steps; i++) sizes[i] += 1;
      this.sizes.set(run, sizes);
    }
    this.parts.memory.replaceChildren(
      html("p", { class: "lead" }, html("b", {}, String(known.length)), ` of ${all} transitions, ${states} of ${run.world.numStates} places seen`),
      lineChart([run], t, (r, step) => this.sizes.get(r)[step], { most: Math.max(...this.sizes.get(run), 1), height: 54 }));
  }
}
