// Streets: every state is a junction and a street faced there, drawn as a petal that points along the street.

class StreetMap {
  constructor(world) {
    const { lines, around, nodes } = world.map;
    Object.assign(this, { world, lines, nodes });
    this.root = svg("svg", { class: "map streets", viewBox: "0 0 1000 1000", role: "img", "aria-label": "map" });
    this.length = this.petalLength();
    const city = around.map(pathOf).join(""), streets = lines.map(pathOf).join("");
    this.known = svg("g", { class: "known" });
    this.trail = svg("path", { class: "trail", "stroke-width": 0.2 * this.length });
    this.petals = lines.map((_, state) => this.makePetal(state));
    const junctions = [...new Set(nodes)].map(node => {
      const [x, y] = lines[nodes.indexOf(node)][0];
      return svg("circle", { class: "junction", cx: x, cy: y, r: 0.13 * this.length });
    });
    this.goal = svg("path", { class: "goal", d: this.petalPath(1.22), "stroke-width": 0.14 * this.length });
    this.agent = svg("g", { class: "agent" },
      svg("path", { d: this.petalPath(1.1) }), svg("circle", { r: 0.3 * this.length }));
    this.root.append(
      svg("path", { class: "city", d: city }), svg("path", { class: "street", d: streets }), this.trail, this.known,
      ...this.petals.map(petal => petal.group), ...junctions, this.goal, this.agent,
      ...this.petals.map(petal => petal.symbol));
  }

  // As long as petals of neighbouring junctions do not touch, within what can be read.
  petalLength() {
    const ends = [...new Set(this.nodes)].map(node => this.lines[this.nodes.indexOf(node)][0]);
    let nearest = Infinity;
    ends.forEach((a, i) => ends.slice(i + 1).forEach(b => { nearest = Math.min(nearest, Math.hypot(a[0] - b[0], a[1] - b[1])); }));
    return Math.min(82, Math.max(46, 0.45 * nearest));
  }

  // Pointing to the right from the origin; turned by `place`.
  petalPath(scale) {
    const l = this.length * scale, w = 0.3 * l;
    return `M0 0C${0.25 * l} ${-w} ${0.62 * l} ${-1.25 * w} ${0.86 * l} ${-0.55 * w}Q${1.06 * l} 0 ${0.86 * l} ${0.55 * w}`
      + `C${0.62 * l} ${1.25 * w} ${0.25 * l} ${w} 0 0Z`;
  }

  angle(state) {
    const line = this.lines[state], [x, y] = line[0];
    const ahead = line.find(p => Math.hypot(p[0] - x, p[1] - y) > 0.6 * this.length) ?? line.at(-1);
    return Math.atan2(ahead[1] - y, ahead[0] - x);
  }

  transform(state) {
    const [x, y] = this.lines[state][0];
    return `translate(${x} ${y}) rotate(${(this.angle(state) * 180 / Math.PI).toFixed(1)})`;
  }

  makePetal(state) {
    const tile = svg("path", { class: "tile", d: this.petalPath(1) });
    const value = svg("path", { class: "value", d: this.petalPath(1) });
    const group = svg("g", { class: "state", transform: this.transform(state), "data-state": state }, tile, value);
    const [x, y] = this.at(state, 0.66);
    const symbol = svg("text", { class: "symbol", x, y, dy: "0.36em", "font-size": 0.4 * this.length });
    return { group, value, symbol };
  }

  at(state, share, turn = 0) {
    const [x, y] = this.lines[state][0], angle = this.angle(state) + turn;
    return [x + share * this.length * Math.cos(angle), y + share * this.length * Math.sin(angle)];
  }

  draw(scene) {
    this.petals.forEach((petal, state) => {
      const visible = !scene.seen || scene.seen.has(state), value = scene.values?.[state] ?? null;
      petal.group.classList.toggle("unseen", !visible);
      petal.symbol.classList.toggle("unseen", !visible);
      petal.symbol.classList.toggle("on-agent", state === scene.place);
      const distance = scene.values ? distanceText(value, scene.noPath) : "";
      petal.symbol.textContent = visible || !scene.hides ? this.world.symbol(state) : "";
      petal.group.dataset.distance = distance;
      petal.value.style.opacity = valueOpacity(value);
    });
    replaceChildren(this.known, (scene.known ?? []).flatMap(edge => this.edge(edge)));
    this.trail.setAttribute("d", this.trailPath(scene.trail ?? []));
    this.goal.style.display = scene.goal === null ? "none" : "";
    if (scene.goal !== null) this.goal.setAttribute("transform", this.transform(scene.goal));
    this.agent.setAttribute("transform", this.transform(scene.place));
    this.agent.classList.toggle("lit", Boolean(scene.lit));
    this.root.dataset.place = scene.place;
  }

  // Forward: the lane along the street, kept to its right. A turn: an arc from petal to petal.
  edge({ state, action, next, isNew }) {
    const name = isNew ? "edge new" : "edge", action_name = this.world.actions[action];
    if (action_name === "forward") {
      const lane = this.lane(this.lines[state], 0.2 * this.length);
      const [a, b] = lane.slice(-2);
      const angle = Math.atan2(b[1] - a[1], b[0] - a[0]), half = this.half(lane);
      return [svg("path", { class: `${name} lane`, d: pathOf(lane) }),
        svg("path", { class: `${name} head`, d: arrowHead(half.x, half.y, half.angle ?? angle, 0.2 * this.length) })];
    }
    if (state === next || action === this.world.collect) return [];
    const r = 1.12 * this.length, clockwise = action_name === "right" ? 1 : 0;
    const [x0, y0] = this.at(state, 1.12), [x1, y1] = this.at(next, 1.12);
    let sweep = (this.angle(next) - this.angle(state)) * (clockwise ? 1 : -1);
    sweep = ((sweep % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI);
    return [svg("path", {
      class: `${name} turn`, d: `M${x0} ${y0}A${r} ${r} 0 ${sweep > Math.PI ? 1 : 0} ${clockwise} ${x1} ${y1}`,
    })];
  }

  lane(line, offset) {
    return line.map(([x, y], i) => {
      const [ax, ay] = line[Math.max(i - 1, 0)], [bx, by] = line[Math.min(i + 1, line.length - 1)];
      const length = Math.hypot(bx - ax, by - ay) || 1;
      return [x - (by - ay) / length * offset, y + (bx - ax) / length * offset];
    });
  }

  // The middle of a line, and its direction there.
  half(line) {
    const parts = line.slice(1).map((p, i) => Math.hypot(p[0] - line[i][0], p[1] - line[i][1]));
    let rest = 0.55 * parts.reduce((a, b) => a + b, 0);
    for (let i = 0; i < parts.length; i++) {
      if (rest <= parts[i]) {
        const [a, b] = [line[i], line[i + 1]], share = rest / (parts[i] || 1);
        return { x: a[0] + share * (b[0] - a[0]), y: a[1] + share * (b[1] - a[1]), angle: Math.atan2(b[1] - a[1], b[0] - a[0]) };
      }
      rest -= parts[i];
    }
    return { x: line.at(-1)[0], y: line.at(-1)[1], angle: 0 };
  }

  // Along the streets that the agent went; turns on the spot leave no mark.
  trailPath(trail) {
    return trail.slice(1).map((state, i) =>
      this.nodes[state] !== this.nodes[trail[i]] ? pathOf(this.lines[trail[i]]) : "").join("");
  }
}
