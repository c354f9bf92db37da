// Any other table of moves: states as discs, moves as lines between them.

class GraphMap {
  constructor(world) {
    this.world = world;
    this.places = world.map.places;
    this.radius = Math.max(16, Math.min(46, 260 / Math.sqrt(world.numStates)));
    this.root = svg("svg", { class: "map graph", viewBox: "0 0 1000 1000", role: "img", "aria-label": "map" });
    const pairs = new Map();
    world.next.forEach((row, s) => world.moves.forEach(a => {
      if (row[a] !== s) pairs.set(`${Math.min(s, row[a])} ${Math.max(s, row[a])}`, [this.places[s], this.places[row[a]]]);
    }));
    this.known = svg("g", { class: "known" });
    this.trail = svg("path", { class: "trail", "stroke-width": 0.4 * this.radius });
    this.states = this.places.map(([x, y], state) => {
      const value = svg("circle", { class: "value", r: this.radius });
      const symbol = svg("text", { class: "symbol", dy: "0.36em", "font-size": this.radius });
      const name = svg("text", { class: "name", dy: 1.6 * this.radius, "font-size": 0.5 * this.radius });
      const group = svg("g", { class: "state", transform: `translate(${x} ${y})`, "data-state": state },
        svg("circle", { class: "tile", r: this.radius }), value, symbol, name);
      return { group, value, symbol, name };
    });
    this.goal = svg("circle", { class: "goal", r: 1.2 * this.radius, "stroke-width": 0.2 * this.radius });
    this.agent = svg("circle", { class: "agent", r: 0.8 * this.radius });
    this.text = svg("text", { class: "agent-symbol", "font-size": this.radius, dy: "0.36em" });
    this.root.append(svg("path", { class: "street", d: [...pairs.values()].map(pathOf).join("") }), this.known,
      this.trail, ...this.states.map(state => state.group), this.goal, this.agent, this.text);
  }

  draw(scene) {
    this.states.forEach((mark, state) => {
      const visible = !scene.seen || scene.seen.has(state);
      mark.group.classList.toggle("unseen", !visible);
      mark.symbol.textContent = visible || !scene.hides ? this.world.symbol(state) : "";
      mark.name.textContent = visible || !scene.hides ? shortened(this.world.name(state)) : "";
      mark.value.style.opacity = valueOpacity(scene.values?.[state] ?? null);
    });
    replaceChildren(this.known, (scene.known ?? []).filter(edge => edge.next !== edge.state).map(edge => this.edge(edge)));
    this.trail.setAttribute("d", pathOf((scene.trail ?? []).map(state => this.places[state])));
    this.goal.style.display = scene.goal === null ? "none" : "";
    if (scene.goal !== null) this.goal.setAttribute("transform", `translate(${this.places[scene.goal].join(" ")})`);
    const [x, y] = this.places[scene.place];
    for (const mark of [this.agent, this.text]) mark.style.transform = `translate(${x}px, ${y}px)`;
    this.text.textContent = this.world.symbol(scene.place);
    this.root.dataset.place = scene.place;
  }

  edge({ state, next, isNew }) {
    const [x0, y0] = this.places[state], [x1, y1] = this.places[next];
    const angle = Math.atan2(y1 - y0, x1 - x0), tip = Math.hypot(x1 - x0, y1 - y0) - 1.3 * this.radius;
    const at = distance => [x0 + distance * Math.cos(angle), y0 + distance * Math.sin(angle)];
    return svg("path", {
      class: isNew ? "edge new" : "edge", "stroke-width": 5,
      d: pathOf([at(this.radius), at(tip)]) + arrowHead(...at(tip), angle, 0.35 * this.radius),
    });
  }
}
