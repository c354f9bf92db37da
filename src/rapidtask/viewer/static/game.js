// A game between a person and an opponent: the same world, the same tasks, a step each.

// A small seeded generator (mulberry32), so that a game can be played again.
function makeRandom(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6D2B79F5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function draw(random, probability) {
  let rest = random();
  for (let i = 0; i < probability.length; i++) if ((rest -= probability[i]) < 0) return i;
  return probability.length - 1;
}

// An endless list of tasks. The first is given; a later one starts where the last ended, or anywhere.
class Tasks {
  constructor(world, start, goal, random) {
    Object.assign(this, { world, random, list: [{ start, goal }] });
  }

  at(index) {
    const other = state => {
      const drawn = Math.floor(this.random() * (this.world.numStates - 1));
      return drawn + (drawn >= state ? 1 : 0);
    };
    while (this.list.length <= index) {
      const last = this.list.at(-1).goal;
      const start = this.world.respawn ? Math.floor(this.random() * this.world.numStates) : last;
      this.list.push({ start, goal: other(start) });
    }
    return this.list[index];
  }
}

// One side of the game: where it is, which task it is at.
class Side {
  constructor(world, tasks) {
    Object.assign(this, { world, tasks, goals: 0, steps: 0, action: 0, completed: false });
    this.place = tasks.at(0).start;
    this.seen = new Set([this.place]);
    this.trail = [this.place];
  }

  get goal() { return this.tasks.at(this.goals).goal; }

  // What an agent would be shown.
  get timestep() {
    const { labels } = this.world;
    return {
      observation: labels[this.place], goal: labels[this.goal], first: this.steps === 0,
      action: this.action, completed: this.completed,
    };
  }

  step(action) {
    this.completed = this.world.completes(this.place, action, this.goal);
    this.place = this.world.next[this.place][action];
    this.seen.add(this.place);
    this.action = action;
    this.steps += 1;
    if (this.completed) {
      this.goals += 1;
      if (this.world.respawn) this.place = this.tasks.at(this.goals).start;
      this.seen.add(this.place);
      this.trail = [this.place];
    } else this.trail.push(this.place);
  }
}

// Opponents: given a side, an action and (for agents) the probabilities it was drawn from.
function networkOpponent(exported, random) {
  const network = new Network(exported);
  return side => {
    const { probability } = network.step(side.timestep);
    return { action: draw(random, probability), probability: Array.from(probability) };
  };
}

function oracleOpponent(random) {
  return side => {
    const { world } = side, distance = world.distancesTo(side.goal);
    if (world.collect !== null && side.place === side.goal) return { action: world.collect };
    const best = Math.min(...world.moves.map(a => distance[world.next[side.place][a]]));
    const moves = world.moves.filter(a => distance[world.next[side.place][a]] === best);
    return { action: moves[Math.floor(random() * moves.length)] };
  };
}

class Game {
  constructor(world, start, goal, makeOpponent, seed) {
    this.world = world;
    this.tasks = new Tasks(world, start, goal, makeRandom(seed));
    this.person = new Side(world, this.tasks);
    this.agent = new Side(world, this.tasks);
    this.opponent = makeOpponent(makeRandom(seed + 1));
  }

  get over() { return this.person.steps >= this.world.steps; }

  // The person takes an action; the opponent takes its own at the same time.
  step(action) {
    if (this.over) return;
    this.thought = this.opponent(this.agent);
    this.agent.step(this.thought.action);
    this.person.step(action);
  }
}
