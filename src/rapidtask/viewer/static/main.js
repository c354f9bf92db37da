// Tabs, playback, keyboard and theme.

const SPEEDS = [1, 2, 4, 8, 16, 32, 64];

class Player {
  constructor() {
    Object.assign(this, { t: 0, playing: false, speed: 2, views: {}, tab: "watch" });
    this.timeline = new Timeline(document.getElementById("timeline"), t => this.seek(t));
    this.clock = document.getElementById("clock");
    this.slider = document.getElementById("speed");
    this.slider.addEventListener("input", () => this.setSpeed(Number(this.slider.value)));
    this.button = document.querySelector('[data-do="toggle"]');
    const jobs = {
      start: () => this.seek(0), back: () => this.seek(this.t - 1), toggle: () => this.toggle(),
      forward: () => this.seek(this.t + 1), end: () => this.seek(RUNS[0].steps),
    };
    for (const [name, job] of Object.entries(jobs))
      document.querySelector(`[data-do="${name}"]`).addEventListener("click", job);
    this.setSpeed(2);
  }

  get view() { return this.views[this.tab]; }

  open(tab) {
    if (!this.views[tab]) {
      const root = document.getElementById(`view-${tab}`);
      this.views[tab] = tab === "watch" ? new WatchView(root, this) : tab === "compare" ? new CompareView(root, this) : new PlayView(root);
    }
    this.tab = tab;
    if (tab === "play") this.pause();
    document.querySelectorAll(".view").forEach(view => { view.hidden = view.id !== `view-${tab}`; });
    document.querySelectorAll("[data-tab]").forEach(button => button.setAttribute("aria-selected", button.dataset.tab === tab));
    document.getElementById("transport").hidden = tab === "play";
    this.refresh();
  }

  refresh() {
    if (this.tab === "play") return;
    this.timeline.show(this.tab === "compare" ? RUNS : [this.view.run]);
    this.seek(this.t);
  }

  seek(t) {
    this.t = Math.max(0, Math.min(RUNS[0].steps, t));
    this.timeline.at(this.t);
    this.clock.textContent = `step ${this.t} / ${RUNS[0].steps}`;
    this.view.show(this.t);
    if (this.t === RUNS[0].steps) this.pause();
  }

  setSpeed(index) {
    this.speed = Math.max(0, Math.min(SPEEDS.length - 1, index));
    this.slider.value = this.speed;
    document.getElementById("speed-text").textContent = `${SPEEDS[this.speed]}/s`;
    document.documentElement.style.setProperty("--pace", `${Math.min(220, 700 / SPEEDS[this.speed])}ms`);
    if (this.playing) { this.pause(); this.resume(); }
  }

  toggle() { if (this.playing) this.pause(); else this.resume(); }

  resume() {
    if (this.t === RUNS[0].steps) this.seek(0);
    this.playing = true;
    this.button.classList.add("playing");
    this.timer = setInterval(() => this.seek(this.t + 1), 1000 / SPEEDS[this.speed]);
  }

  pause() {
    this.playing = false;
    this.button.classList.remove("playing");
    clearInterval(this.timer);
  }

  // Whether a key meant something here.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (this.tab === "play" && this.view.key(event)) return true;
    const tabs = { 1: "watch", 2: "compare", 3: "play" };
    if (tabs[event.key]) { this.open(tabs[event.key]); return true; }
    if (this.tab === "play") return false;
    const jobs = {
      ArrowLeft: () => this.seek(this.t - 1), ArrowRight: () => this.seek(this.t + 1), " ": () => this.toggle(),
      Home: () => this.seek(0), End: () => this.seek(RUNS[0].steps), "+": () => this.setSpeed(this.speed + 1),
      "=": () => this.setSpeed(this.speed + 1), "-": () => this.setSpeed(this.speed - 1),
      "[": () => this.views.watch.setIteration(this.views.watch.iteration - 1),
      "]": () => this.views.watch.setIteration(this.views.watch.iteration + 1),
    };
    jobs[event.key]?.();
    return event.key in jobs;
  }
}

function setUpTheme() {
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { button.classList.toggle("dark", isDark()); };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  system.addEventListener("change", label);
  label();
}

const player = new Player();
document.title = `${DATA.title} – rapidtask`;
document.getElementById("where").textContent = `${DATA.title}, seed ${DATA.seed}`;
document.querySelectorAll("[data-tab]").forEach(button => button.addEventListener("click", () => player.open(button.dataset.tab)));
document.addEventListener("keydown", event => {
  if (event.target instanceof HTMLSelectElement) return;
  if (player.key(event)) { event.preventDefault(); event.target.blur?.(); }
});
setUpTheme();
const wanted = location.hash.slice(1);
player.open(["watch", "compare", "play"].includes(wanted) ? wanted : "watch");
// For scripts and tests.
window.rapidtask = { data: DATA, world: WORLD, runs: RUNS, player, replay };
