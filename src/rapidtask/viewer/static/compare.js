// The comparison view: all recorded policies side by side on the same world.

class CompareView {
  constructor(root, player) {
    Object.assign(this, { root, player });
    this.panels = RUNS.map(run => {
      const map = makeMap(WORLD), goals = html("b", {}), note = html("span", { class: "note" });
      const card = html("div", { class: "card panel", style: `--run: ${runColor(run.index)}`, "data-run": run.index },
        html("div", { class: "panel-head" }, html("i", { class: "dot" }), html("strong", {}, run.name), goals), map.root, note);
      return { run, map, goals, note, card };
    });
    this.chart = html("div", {});
    this.table = html("div", { class: "scroll" });
    root.append(
      html("div", { class: `panels count-${Math.min(RUNS.length, 4)}` }, ...this.panels.map(panel => panel.card)),
      html("div", { class: "columns even" },
        html("div", { class: "card" }, html("h2", {}, "Goals over time"), this.chart),
        html("div", { class: "card" }, html("h2", {}, "Score"), this.table)));
    if (RUNS.length === 1) root.prepend(html("p", { class: "hint" }, "Only one policy was recorded: rapidtask watch --compare adds others."));
  }

  show(t) {
    for (const { run, map, goals, note } of this.panels) {
      map.draw({
        place: run.place[t], goal: run.goal[t], trail: run.trailAt(t), known: run.knownAt(t), values: null,
        seen: new Set(run.place.slice(0, t + 1)), lit: t > 0 && run.completed[t - 1] === 1,
      });
      goals.textContent = `${run.goalsAt[t]} goals`;
      const task = run.taskAt(t);
      note.textContent = `task ${task.index + 1}: step ${t - task.start}, shortest ${task.shortest}`;
    }
    const most = Math.max(...RUNS.map(run => run.goalsAt.at(-1)), 1);
    this.chart.replaceChildren(lineChart(RUNS, t, (run, step) => run.goalsAt[step], { most, width: 480, height: 200, labels: true }));
    this.table.replaceChildren(this.makeTable());
  }

  makeTable() {
    const cell = (tag, text) => html(tag, {}, text);
    const head = html("tr", {}, ...["", "goals", "in the last third", "detour"].map(text => cell("th", text)));
    const rows = RUNS.map(run => {
      const third = run.goalsAt.at(-1) - run.goalsAt[Math.floor(run.steps * 2 / 3)];
      const done = run.tasks.filter(task => task.done);
      const used = done.reduce((sum, task) => sum + task.used, 0), needed = done.reduce((sum, task) => sum + task.shortest, 0);
      return html("tr", {}, html("td", {}, html("i", { class: "dot", style: `--run: ${runColor(run.index)}` }), run.name),
        cell("td", String(run.goalsAt.at(-1))), cell("td", String(third)), cell("td", done.length ? `×${(used / needed).toFixed(2)}` : "–"));
    });
    return html("table", { title: "detour: steps used per step of the shortest path, over completed tasks" }, head, ...rows);
  }
}
