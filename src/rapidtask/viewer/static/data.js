// What was recorded, and the world it was recorded in.

const DATA = JSON.parse(document.getElementById("data").textContent);
const UNKNOWN = 255;

function decodeBytes(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// A world: its table, its labels, and how far it is from everywhere to everywhere.
class World {
  constructor(data, labels = data.labels) {
    Object.assign(this, {
      data, labels, next: data.next_state, actions: data.actions, collect: data.collect,
      respawn: data.respawn, steps: data.episode_steps, map: data.map,
    });
    this.numStates = this.next.length;
    this.moves = this.actions.map((_, a) => a).filter(a => a !== this.collect);
    this.towards = new Map();
  }

  symbol(state) { return this.data.alphabet[this.labels[state]]; }

  // What people call a state, which agents never see; "" if it has no name.
  name(state) { return this.data.names?.[state] ?? ""; }

  relabelled(labels) { return new World(this.data, labels); }

  // Fewest moves from every state to a goal, breadth-first backwards.
  distancesTo(goal) {
    if (this.towards.has(goal)) return this.towards.get(goal);
    const distance = new Array(this.numStates).fill(Infinity);
    distance[goal] = 0;
    for (let changed = true; changed;) {
      changed = false;
      for (let s = 0; s < this.numStates; s++)
        for (const a of this.moves) {
          const through = distance[this.next[s][a]] + 1;
          if (through < distance[s]) { distance[s] = through; changed = true; }
        }
    }
    this.towards.set(goal, distance);
    return distance;
  }

  // Fewest steps that complete a task, the collect action among them.
  shortest(start, goal) { return this.distancesTo(goal)[start] + (this.collect === null ? 0 : 1); }

  completes(state, action, goal) {
    return this.next[state][action] === goal && (this.collect === null || action === this.collect);
  }
}

// One recorded episode, with what follows from it: its tasks and what is remembered at each step.
class Run {
  constructor(data, world, index) {
    Object.assign(this, {
      data, world, index, name: data.name, place: data.place, goal: data.goal, action: data.action,
      completed: data.completed, probability: data.probability, value: data.value, network: data.network,
    });
    this.steps = this.action.length;
    this.tasks = this.findTasks();
    this.firstKnown = this.findFirstKnown();
    this.goalsAt = [0];
    this.completed.forEach(done => this.goalsAt.push(this.goalsAt.at(-1) + done));
    const map = data.value_map;
    if (map) {
      this.valueMap = { ...map, value: decodeBytes(map.value), distance: decodeBytes(map.distance) };
      this.iterations = map.shape[1] - 1;
    }
  }

  // Each task: where it began, its goal, how long it took (if it was completed) and had to take.
  findTasks() {
    const tasks = [];
    let start = 0;
    for (let t = 0; t <= this.steps; t++) {
      const done = t < this.steps && this.completed[t] === 1;
      if (!done && t < this.steps) continue;
      const end = done ? t + 1 : this.steps;
      if (end > start || done) tasks.push({
        index: tasks.length, start, end, done, goal: this.goal[start],
        used: end - start, shortest: this.world.shortest(this.place[start], this.goal[start]),
      });
      start = end;
    }
    return tasks;
  }

  taskAt(t) { return this.tasks.find(task => t < task.end) ?? this.tasks.at(-1); }

  // The first step at which each transition "state action" is in memory when the agent plans.
  findFirstKnown() {
    const wait = this.network?.options.plan_with_newest || !this.network ? 1 : 2;
    const first = new Map();
    for (let t = 0; t < this.steps; t++) {
      const key = this.place[t] * this.world.actions.length + this.action[t];
      if (!first.has(key)) first.set(key, t + wait);
    }
    return first;
  }

  // Transitions in memory at step t, as {state, action, next, isNew}.
  knownAt(t) {
    const known = [], count = this.world.actions.length;
    for (const [key, since] of this.firstKnown) {
      if (since > t) continue;
      const state = Math.floor(key / count), action = key % count;
      known.push({ state, action, next: this.world.next[state][action], isNew: since === t });
    }
    return known;
  }

  trailAt(t) {
    const task = this.taskAt(t);
    const begin = t >= task.end ? task.end : task.start;
    return this.place.slice(begin, t + 1);
  }

  // What the planner holds about each state after an iteration: value 0 to 1, and distance; null if nothing.
  valuesAt(t, iteration) {
    const map = this.valueMap;
    if (!map || t >= map.shape[0]) return null;
    const [, iterations, states] = map.shape;
    const offset = (t * iterations + iteration) * states;
    return Array.from({ length: this.world.numStates }, (_, s) => {
      const value = map.value[offset + s];
      return value === UNKNOWN ? null : { value: value / (UNKNOWN - 1), distance: map.distance[offset + s] };
    });
  }
}

const WORLD = new World(DATA.world);
const RUNS = DATA.runs.map((run, index) => new Run(run, WORLD, index));
