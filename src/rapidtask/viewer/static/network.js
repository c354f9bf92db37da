// The Episodic Planning Network, run in the page: src/rapidtask/agents/epn.py, one environment at a time.
// All sizes and options come from the exported network. Matrices are flat, row after row.

class Network {
  constructor(exported) {
    this.options = exported.options;
    this.blocks = exported.blocks;
    this.numSlots = exported.num_slots;
    const all = new Float32Array(decodeBytes(exported.weights).buffer);
    this.weights = {};
    for (const [name, { offset, shape }] of Object.entries(exported.index)) {
      const size = shape.reduce((a, b) => a * b, 1);
      this.weights[name] = { data: Float64Array.from(all.subarray(offset, offset + size)), shape };
    }
    this.table = this.weights["encoder.table"];
    this.width = this.options.width;
    // The embedded table through each map that rows and states go through: once, not once a row.
    this.projected = {};
    for (const name of ["row.origin.weight", "row.successor.weight", "row.goal.weight", "state_in.weight"])
      if (this.weights[name]) this.projected[name] = product(this.table.data, this.table.shape[0], this.weights[name]);
    this.reset();
  }

  // Forget everything: an episode starts.
  reset() { this.rows = []; this.stepsTaken = 0; this.last = null; }

  // One timestep: {observation, goal, first, action, completed} as an agent sees it. Returns what act returns.
  step(timestep) {
    if (timestep.first) this.reset();
    const newest = this.transition(timestep);
    if (this.options.plan_with_newest) this.remember(newest);
    const output = this.act(timestep.observation, timestep.goal);
    if (!this.options.plan_with_newest) this.remember(newest);
    this.last = { observation: timestep.observation, goal: timestep.goal };
    return output;
  }

  transition(timestep) {
    if (timestep.first) return null;
    const arrived = this.options.goal_as_successor && timestep.completed;
    return {
      origin: this.last.observation, action: timestep.action,
      successor: arrived ? this.last.goal : timestep.observation,
    };
  }

  remember(row) {
    if (row === null) return;
    this.stepsTaken += 1;
    if (this.options.memory !== "all") {
      const known = this.rows.find(other =>
        other.origin === row.origin && other.action === row.action && other.successor === row.successor);
      if (known) { known.count += 1; known.written = this.stepsTaken; return; }
    }
    const fresh = { ...row, count: 1, written: this.stepsTaken };
    if (this.rows.length < this.numSlots) { this.rows.push(fresh); return; }
    let stalest = 0;
    this.rows.forEach((other, i) => { if (other.written < this.rows[stalest].written) stalest = i; });
    this.rows[stalest] = fresh;
  }

  // Plan over the memory and choose: {logits, probability, value, beliefs}.
  act(here, goal) {
    const { width } = this;
    const [memory, beliefs] = this.plan(here, goal);
    const n = memory.length, w = this.weights;
    const summary = new Float64Array(width);
    if (n > 0) {
      const read = Float64Array.from(beliefs.at(-1));
      if (this.options.value_channels) addTo(read, 0, this.toldOfValues(read, memory));
      const state = this.projected["state_in.weight"]?.subarray(here * width, (here + 1) * width);
      memory.forEach((row, i) => {
        if (state) addTo(read, i * width, state);
        if (w.readout_match && row.origin === here) addRow(read, i, w.readout_match, 0);
        if (w.readout_match && row.successor === here) addRow(read, i, w.readout_match, 1);
      });
      const readout = this.mlp(read, n, "readout");
      summary.fill(-Infinity);
      for (let i = 0; i < n; i++)
        for (let d = 0; d < width; d++) summary[d] = Math.max(summary[d], readout[i * width + d]);
    }
    const embedded = this.table.shape[1];
    const look = id => this.table.data.subarray(id * embedded, (id + 1) * embedded);
    const places = this.options.symbols === "none" ? [] : [...look(here), ...look(goal)];
    const joined = Float64Array.from([...summary, ...places]);
    let hidden = this.linear(joined, 1, "policy.layers[0]");
    if (w.policy_match && here === goal) addTo(hidden, 0, w.policy_match.data);
    hidden = relu(this.linear(relu(hidden), 1, "policy.layers[1]"));
    const logits = this.linear(hidden, 1, "logits");
    return { logits, probability: softmax(logits), value: this.linear(hidden, 1, "value")[0], beliefs };
  }

  // The rows that hold the belief, and the belief before planning and after each iteration.
  plan(here, goal) {
    const rows = this.embedRows(here, goal), memory = this.rows;
    if (this.options.recent_rows === null) {
      const bias = this.bias(memory, memory), beliefs = [rows];
      for (let i = 0; i < this.options.iterations && memory.length; i++)
        beliefs.push(this.block(this.blocks[0], beliefs.at(-1), memory.length, null, memory.length, bias, rows));
      return [memory, beliefs];
    }
    const order = memory.map((_, i) => i).sort((a, b) => memory[b].written - memory[a].written || a - b)
      .slice(0, this.options.recent_rows);
    const recent = order.map(i => memory[i]), width = this.width;
    const belief = new Float64Array(recent.length * width);
    order.forEach((slot, i) => belief.set(rows.subarray(slot * width, (slot + 1) * width), i * width));
    const toMemory = this.bias(recent, memory), toItself = this.bias(recent, recent), beliefs = [belief];
    for (let i = 0; i < this.options.iterations && memory.length; i++) {
      const k = recent.length;
      const attended = this.block(this.blocks[0], beliefs.at(-1), k, rows, memory.length, toMemory, belief);
      beliefs.push(this.block(this.blocks[1], attended, k, null, k, toItself));
    }
    return [recent, beliefs];
  }

  // What undoes what, and what is not known: src/rapidtask/agents/moves.py.
  findMoves(memory) {
    const actions = this.weights["row.action"].shape[0];
    const table = () => Array.from({ length: actions }, () => new Float64Array(actions));
    const tried = table(), undone = table(), done = new Float64Array(actions), stays = new Float64Array(actions);
    const leaves = {};
    for (const row of memory) {
      (leaves[row.origin] ??= []).push(row);
      leaves[row.successor] ??= [];
      done[row.action] += 1;
      stays[row.action] += row.origin === row.successor;
    }
    for (const row of memory)
      for (const next of leaves[row.successor]) {
        tried[row.action][next.action] += 1;
        undone[row.action][next.action] += next.successor === row.origin;
      }
    // For each place and action where it leads, [place, probability]: that of the newest row, else the likeliest one.
    const outcome = {}, unknown = {}, likeliest = [];
    for (const [place, rows] of Object.entries(leaves)) {
      outcome[place] = Array.from({ length: actions }, () => [null, 0]);
      for (const row of rows) outcome[place][row.action] = [row.successor, Infinity];
    }
    memory.forEach(row => {
      likeliest.push(0);
      outcome[row.successor].forEach(([, before], action, found) => {
        if (before === Infinity) return;
        const likely = (undone[row.action][action] + 1 / actions) / (tried[row.action][action] + 1);
        likeliest.push(Math.max(likeliest.pop(), likely));
        if (likely >= before) found[action] = [row.origin, likely];
      });
    });
    const cost = likely => 0.1 - Math.log(Math.min(Math.max(likely, 1e-30), 1));
    const moves = [];
    for (const [place, found] of Object.entries(outcome)) {
      unknown[place] = 0;
      found.forEach(([to, likely], action) => {
        const nowhere = (stays[action] + 1 / actions) / (done[action] + 1);
        if (likely < Infinity) unknown[place] += 1 - Math.max(likely, nowhere);
        if (to !== null) moves.push([place, to, cost(likely)]);
      });
    }
    return { back: likeliest.map(cost), unknown, moves };
  }

  // What value iteration tells each row: src/rapidtask/agents/value_iteration.py.
  toldOfValues(belief, memory) {
    const cost = 0.1, standsOut = 5, channels = this.options.value_channels, n = memory.length;
    const said = this.linear(belief, n, "values.source").map(x => -Math.log1p(Math.exp(standsOut - x)));
    const source = {}, { back, moves } = this.findMoves(memory);
    memory.forEach((row, i) => [row.origin, row.successor].forEach((place, end) => {
      source[place] ??= new Array(channels).fill(-Infinity);
      source[place].forEach((most, c) => { source[place][c] = Math.max(most, said[(2 * i + end) * channels + c]); });
    }));
    let value = source, changed = true;
    for (let sweep = 0; changed && sweep < (this.options.sweeps ?? Infinity); sweep++) {
      const following = Object.fromEntries(Object.entries(source).map(([place, worth]) => [place, [...worth]]));
      for (const [from, to, paid] of moves)
        value[to].forEach((worth, c) => { following[from][c] = Math.max(following[from][c], worth - paid); });
      changed = Object.keys(value).some(place => value[place].some((worth, c) => following[place][c] > worth));
      value = following;
    }
    const told = new Float64Array(n * 4 * channels);
    memory.forEach((row, i) => value[row.origin].forEach((here, c) => {
      const there = value[row.successor][c], gains = [there - here, here - there + cost - back[i]];
      [...gains.map(gain => Math.tanh(gain / cost)), Math.exp(here), Math.exp(there)].forEach((fact, kind) => {
        told[(4 * i + kind) * channels + c] = fact;
      });
    }));
    return this.linear(told, n, "values.to_row");
  }

  embedRows(here, goal) {
    const { width, projected, weights } = this;
    const add = (rows, i, name, id) => {
      if (projected[name]) addTo(rows, i * width, projected[name].subarray(id * width, (id + 1) * width));
    };
    const rows = new Float64Array(this.rows.length * width);
    this.rows.forEach((row, i) => {
      addRow(rows, i, weights["row.action"], row.action);
      add(rows, i, "row.origin.weight", row.origin);
      add(rows, i, "row.successor.weight", row.successor);
      add(rows, i, "row.goal.weight", goal);
      for (const [gain, place] of [[weights["row.match"], goal], [weights["row.locate"], here]]) {
        if (gain && row.successor === place) addRow(rows, i, gain, 0);
        if (gain && row.origin === place) addRow(rows, i, gain, 1);
      }
    });
    if (this.options.value_channels) {
      const { unknown } = this.findMoves(this.rows), gain = this.weights["values.unknown"].data;
      this.rows.forEach((row, i) => {
        for (let d = 0; d < width; d++)
          rows[i * width + d] += unknown[row.origin] * gain[d] + unknown[row.successor] * gain[width + d];
      });
    }
    return rows;
  }

  // What each row's attention to each other is given, [heads][of × to]: counts, equal places, -∞ for rows not seen.
  bias(of, to) {
    const gains = this.weights.match_gain, heads = this.options.num_heads;
    const neighbours = this.options.comparisons === "neighbours";
    return Array.from({ length: heads }, (_, h) => {
      const bias = new Float64Array(of.length * to.length);
      of.forEach((mine, i) => to.forEach((yours, j) => {
        const same = [
          mine.successor === yours.origin, mine.origin === yours.successor,
          mine.origin === yours.origin, mine.successor === yours.successor,
        ];
        let given = this.options.memory === "set" ? 0 : Math.log(yours.count);
        if (neighbours && !same[h % 4]) given = -Infinity;
        if (gains) same.forEach((equal, kind) => { if (equal) given += gains.data[kind * heads + h]; });
        bias[i * to.length + j] = given;
      }));
      return bias;
    });
  }

  // One iteration of a belief of n rows attending to m other rows, or to itself if there are none; what it
  // attends to is added to the belief, or to the start that is recalled.
  block(name, belief, n, rows, m, bias, start = belief) {
    const queries = this.normalise(belief, n, `${name}.attention_norm`);
    const keys = rows === null ? queries : this.normalise(rows, m, `${name}.attention_norm`);
    const attended = this.attend(`${name}.attention`, queries, n, keys, m, bias);
    addTo(attended, 0, this.options.block === "recall" ? start : belief);
    if (this.options.block === "paper") return this.mlp(relu(attended), n, `${name}.mlp`);
    const changed = this.mlp(this.normalise(attended, n, `${name}.mlp_norm`), n, `${name}.mlp`);
    addTo(changed, 0, attended);
    return changed;
  }

  attend(name, queries, n, rows, m, bias) {
    const { width } = this, heads = this.options.num_heads, size = width / heads;
    const q = this.linear(queries, n, `${name}.to_query`);
    const k = this.linear(rows, m, `${name}.to_key`), v = this.linear(rows, m, `${name}.to_value`);
    const mixed = new Float64Array(n * width), logits = new Float64Array(m);
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) {
          let dot = 0;
          for (let d = h * size; d < (h + 1) * size; d++) dot += q[i * width + d] * k[j * width + d];
          logits[j] = dot / Math.sqrt(size) + bias[h][i * m + j];
        }
        const weight = softmax(logits);
        for (let j = 0; j < m; j++)
          for (let d = h * size; d < (h + 1) * size; d++) mixed[i * width + d] += weight[j] * v[j * width + d];
      }
    return this.linear(mixed, n, `${name}.to_output`);
  }

  normalise(x, n, name) {
    const { data: scale } = this.weights[`${name}.scale`], { data: offset } = this.weights[`${name}.offset`];
    const size = scale.length, out = new Float64Array(x.length);
    for (let i = 0; i < n; i++) {
      let mean = 0, square = 0;
      for (let d = 0; d < size; d++) mean += x[i * size + d] / size;
      for (let d = 0; d < size; d++) square += (x[i * size + d] - mean) ** 2 / size;
      for (let d = 0; d < size; d++)
        out[i * size + d] = (x[i * size + d] - mean) / Math.sqrt(square + 1e-5) * scale[d] + offset[d];
    }
    return out;
  }

  linear(x, n, name) {
    const out = product(x, n, this.weights[`${name}.weight`]), bias = this.weights[`${name}.bias`];
    if (bias) for (let i = 0; i < n; i++) addTo(out, i * bias.data.length, bias.data);
    return out;
  }

  mlp(x, n, name) { return this.linear(relu(this.linear(x, n, `${name}.layers[0]`)), n, `${name}.layers[1]`); }
}

function product(x, n, weight) {
  const [inputs, outputs] = weight.shape, w = weight.data, out = new Float64Array(n * outputs);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < inputs; k++) {
      const a = x[i * inputs + k];
      if (a === 0) continue;
      for (let j = 0; j < outputs; j++) out[i * outputs + j] += a * w[k * outputs + j];
    }
  return out;
}

function addTo(target, at, values) { for (let d = 0; d < values.length; d++) target[at + d] += values[d]; }

// Add row r of a matrix to row i of a target of the same width.
function addRow(target, i, matrix, r) {
  const size = matrix.shape[1];
  for (let d = 0; d < size; d++) target[i * size + d] += matrix.data[r * size + d];
}

function relu(x) { return x.map(a => Math.max(a, 0)); }

// Of nothing but -∞ it is 0.
function softmax(x) {
  const most = x.reduce((a, b) => Math.max(a, b), -1e30), e = x.map(a => Math.exp(a - most));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map(a => a / Math.max(sum, 1e-30));
}

// The network's probabilities at each step of a recorded run, given what the agent was shown.
function* replaySteps(run) {
  const network = new Network(run.network), { labels } = run.world;
  for (let t = 0; t < run.steps; t++) yield Array.from(network.step({
    observation: labels[run.place[t]], goal: labels[run.goal[t]], first: t === 0,
    action: t > 0 ? run.action[t - 1] : 0, completed: t > 0 && run.completed[t - 1] === 1,
  }).probability);
}

function replay(run) { return [...replaySteps(run)]; }
