// The torus of the Memory&Planning Game: cells with symbols. Up is +y, so the row y = N-1 is at the top.

const COMPASS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

class TorusMap {
  constructor(world) {
    this.world = world;
    this.size = world.map.size;
    this.cell = 1000 / (this.size + 0.44);
    this.margin = 0.22 * this.cell;
    this.root = svg("svg", { class: "map torus", viewBox: "0 0 1000 1000", role: "img", "aria-label": "map" });
    this.cells = world.next.map((_, state) => this.makeCell(state));
    this.known = svg("g", { class: "known" });
    this.trail = svg("path", { class: "trail", "stroke-width": 0.09 * this.cell });
    this.goal = this.square("goal", 0.05);
    this.goal.setAttribute("stroke-width", 0.055 * this.cell);
    this.agent = svg("circle", { class: "agent", r: 0.31 * this.cell });
    this.text = svg("text", { class: "agent-symbol", "font-size": 0.4 * this.cell, dy: "0.36em" });
    this.root.append(...this.cells.map(cell => cell.group), this.known, this.trail, ...this.cells.map(cell => cell.text),
      this.goal, this.agent, this.text);
  }

  center(state) {
    const x = state % this.size, y = Math.floor(state / this.size);
    return [this.margin + (x + 0.5) * this.cell, this.margin + (this.size - 1 - y + 0.5) * this.cell];
  }

  square(name, inset) {
    const side = this.cell * (1 - 2 * inset);
    return svg("rect", { class: name, x: -side / 2, y: -side / 2, width: side, height: side, rx: 0.13 * this.cell });
  }

  makeCell(state) {
    const [x, y] = this.center(state);
    const tile = this.square("tile", 0.03), value = this.square("value", 0.03);
    const symbol = svg("text", { class: "symbol", "font-size": 0.36 * this.cell, dy: "0.36em" });
    const distance = svg("text", {
      class: "distance", "font-size": 0.15 * this.cell, x: 0.4 * this.cell, y: 0.41 * this.cell,
    });
    const transform = `translate(${x} ${y})`;
    const group = svg("g", { class: "state", transform, "data-state": state }, tile, value);
    // Apart, because the trail lies between a cell and its text.
    return { group, value, symbol, distance, text: svg("g", { transform }, symbol, distance) };
  }

  draw(scene) {
    const { world } = this;
    this.cells.forEach((cell, state) => {
      const visible = !scene.seen || scene.seen.has(state), value = scene.values?.[state] ?? null;
      cell.group.classList.toggle("unseen", !visible);
      cell.symbol.classList.toggle("unseen", !visible);
      cell.symbol.textContent = visible || !scene.hides ? world.symbol(state) : "";
      cell.value.style.opacity = valueOpacity(value);
      cell.distance.textContent = scene.values ? distanceText(value, scene.noPath) : "";
    });
    replaceChildren(this.known, (scene.known ?? []).map(edge => this.edge(edge)));
    this.trail.setAttribute("d", this.trailPath(scene.trail ?? []));
    this.goal.style.display = scene.goal === null ? "none" : "";
    if (scene.goal !== null) this.goal.setAttribute("transform", `translate(${this.center(scene.goal).join(" ")})`);
    const [x, y] = this.center(scene.place);
    for (const mark of [this.agent, this.text]) mark.style.transform = `translate(${x}px, ${y}px)`;
    this.agent.classList.toggle("lit", Boolean(scene.lit));
    this.text.textContent = world.symbol(scene.place);
    this.root.dataset.place = scene.place;
  }

  // A short arrow over the border that a move crosses; each direction keeps to its right.
  edge({ state, action, isNew }) {
    const [x, y] = this.center(state), c = this.cell, name = isNew ? "edge new" : "edge";
    const step = COMPASS[this.world.actions[action]];
    if (!step) return svg("circle", { class: `${name} collect`, cx: x - 0.36 * c, cy: y - 0.36 * c, r: 0.045 * c });
    const [dx, dy] = step, side = 0.075 * c;
    const at = share => [x + dx * share * c - dy * side, y + dy * share * c + dx * side];
    const [tipX, tipY] = at(0.64);
    return svg("path", {
      class: name, "stroke-width": 0.028 * c,
      d: pathOf([at(0.37), at(0.6)]) + arrowHead(tipX, tipY, Math.atan2(dy, dx), 0.05 * c),
    });
  }

  // A move over the rim leaves there and enters opposite.
  trailPath(trail) {
    let d = "";
    for (let i = 1; i < trail.length; i++) {
      if (trail[i] === trail[i - 1]) continue;
      const [a, b] = [this.center(trail[i - 1]), this.center(trail[i])];
      const dx = Math.round((b[0] - a[0]) / this.cell), dy = Math.round((b[1] - a[1]) / this.cell);
      if (Math.max(Math.abs(dx), Math.abs(dy)) <= 1) { d += pathOf([a, b]); continue; }
      const hx = -Math.sign(dx) * this.cell * 0.6, hy = -Math.sign(dy) * this.cell * 0.6;
      d += pathOf([a, [a[0] + hx, a[1] + hy]]) + pathOf([[b[0] - hx, b[1] - hy], b]);
    }
    return d;
  }
}
