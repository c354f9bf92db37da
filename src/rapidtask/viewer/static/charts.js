// The timeline and the small charts beside the map.

const COLORS = ["var(--agent)", "var(--run2)", "var(--run3)", "var(--run4)", "var(--run5)", "var(--run6)", "var(--run7)", "var(--run8)"];

function runColor(index) { return COLORS[index % COLORS.length]; }

// Rows of tasks over time, one per run; a click or drag seeks.
class Timeline {
  constructor(root, seek) {
    Object.assign(this, { root, seek });
    const move = event => {
      const box = this.root.getBoundingClientRect();
      seek(Math.round((event.clientX - box.left) / box.width * this.steps));
    };
    root.addEventListener("pointerdown", event => {
      root.setPointerCapture(event.pointerId);
      this.held = true;
      move(event);
    });
    root.addEventListener("pointermove", event => { if (this.held) move(event); });
    for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, () => { this.held = false; });
  }

  show(runs) {
    this.steps = runs[0].steps;
    this.cursor = html("div", { class: "cursor" });
    const rows = runs.map(run => html("div", { class: "row", style: `--run: ${runColor(run.index)}` },
      ...run.tasks.map(task => this.segment(run, task))));
    this.root.replaceChildren(...rows, this.cursor);
    this.root.classList.toggle("many", runs.length > 1);
  }

  segment(run, task) {
    const width = (task.end - task.start) / this.steps, symbol = run.world.symbol(task.goal);
    const title = task.done ? `task ${task.index + 1}, goal ${symbol}: ${task.used} steps, shortest ${task.shortest}`
      : `task ${task.index + 1}, goal ${symbol}: not completed`;
    return html("div", {
      class: task.done ? (task.used === task.shortest ? "task best" : "task") : "task open",
      style: `left: ${100 * task.start / this.steps}%; width: ${100 * width}%`, title,
    }, html("span", {}, width > 0.018 ? symbol : ""));
  }

  at(t) { this.cursor.style.left = `${100 * t / this.steps}%`; }
}

// Steps of each task: used, and fewest possible from where it began.
function taskChart(run, t) {
  const tasks = run.tasks.filter(task => task.done || task.end - task.start > 0);
  const most = Math.max(...tasks.map(task => Math.max(task.used, task.shortest)), 6);
  const width = 320, height = 108, step = width / Math.max(tasks.length, 10), bar = Math.min(16, step * 0.7);
  const scale = value => (height - 18) * value / most;
  const now = run.taskAt(t);
  const bars = tasks.map((task, i) => {
    const x = step * (i + 0.5), reached = task.start <= t;
    return svg("g", { class: `bar${task === now ? " now" : ""}${reached ? "" : " later"}${task.done ? "" : " open"}` },
      svg("title", {}, `task ${i + 1}: ${task.used} steps${task.done ? "" : ", not completed"}; shortest ${task.shortest}`),
      svg("rect", { class: "used", x: x - bar / 2, y: height - 8 - scale(task.used), width: bar, height: scale(task.used), rx: 2 }),
      svg("rect", { class: "shortest", x: x - bar / 2 - 1, y: height - 8 - scale(task.shortest) - 1.25, width: bar + 2, height: 2.5 }));
  });
  const lines = [0, most].map(value => svg("g", { class: "grid" },
    svg("line", { x1: 0, x2: width, y1: height - 8 - scale(value), y2: height - 8 - scale(value) }),
    value ? svg("text", { x: width, y: height - 12 - scale(value) + 2, class: "end" }, `${value} steps`) : null));
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}` }, ...lines, ...bars);
}

// A line over the steps of the episode for each run, with a cursor; `at(run, t)` gives its height.
function lineChart(runs, t, at, { width = 320, height = 70, most, labels = false } = {}) {
  const right = labels ? 92 : 6, steps = runs[0].steps;
  const x = step => 2 + step / steps * (width - right - 4), y = value => height - 6 - value / most * (height - 18);
  const marks = runs.map(run => {
    const points = Array.from({ length: steps + 1 }, (_, step) => [x(step), y(at(run, step))]);
    return svg("g", { class: "series", style: `--run: ${runColor(run.index)}` },
      svg("path", { class: "ahead", d: pathOf(points) }), svg("path", { class: "line", d: pathOf(points.slice(0, t + 1)) }),
      svg("circle", { cx: points[t][0], cy: points[t][1], r: 3.2 }));
  });
  const ends = labels ? endLabels(runs, run => y(at(run, steps)), height).map(([run, at_y]) =>
    svg("text", { class: "name", x: width - right + 6, y: at_y + 3.5, style: `fill: ${runColor(run.index)}` }, run.name.slice(0, 16))) : [];
  const base = svg("line", { class: "base", x1: 2, x2: width - right, y1: y(0), y2: y(0) });
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}` }, base, ...marks, ...ends);
}

// Labels at the ends of lines, moved apart so that none lies on another.
function endLabels(runs, y, height) {
  const gap = 12, sorted = runs.map(run => [run, y(run)]).sort((a, b) => a[1] - b[1]);
  for (let i = 1; i < sorted.length; i++) sorted[i][1] = Math.max(sorted[i][1], sorted[i - 1][1] + gap);
  const over = sorted.length ? sorted.at(-1)[1] - (height - 6) : 0;
  if (over > 0) for (let i = sorted.length - 1, limit = height - 6; i >= 0; i--, limit -= gap) sorted[i][1] = Math.min(sorted[i][1], limit);
  return sorted;
}

// Bars of the actions' probabilities, the chosen one marked.
function actionBars(world, probability, chosen) {
  return html("div", { class: "actions" }, ...world.actions.map((name, action) => {
    const share = probability?.[action];
    return html("div", { class: `action${action === chosen ? " chosen" : ""}`, "data-action": action },
      html("span", { class: "icon-cell" }, actionIcon(world, action)), html("span", { class: "action-name" }, name),
      html("span", { class: "meter" }, html("i", { style: `width: ${100 * (share ?? 0)}%` })),
      html("span", { class: "percent" }, share === undefined ? (action === chosen ? "chosen" : "") : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`));
  }));
}
