// Small helpers to build elements, and what all maps share.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function html(tag, attributes = {}, ...children) { return fill(document.createElement(tag), attributes, children); }

const ARROWS = { up: "↑", down: "↓", left: "←", right: "→", forward: "↑", collect: "●" };
const TURNS = { left: "↰", right: "↱" };

function actionIcon(world, action) {
  const name = world.actions[action];
  const turns = world.map.kind === "streets" ? TURNS[name] : undefined;
  return turns ?? ARROWS[name] ?? String(action + 1);
}

// A scene is one moment, for any map: {place, goal, trail, values, known, seen, lit}. `goal` is null where it
// is not to be shown, `values` null without a value map, `seen` null if every state may be shown; `lit` marks
// a moment at which a task was completed.
function makeMap(world) {
  const kinds = { torus: TorusMap, streets: StreetMap, graph: GraphMap };
  return new kinds[world.map.kind](world);
}

// Opacity of the colour under a state: low values should still be told from none.
function valueOpacity(cell) { return cell === null ? 0 : 0.04 + 0.88 * cell.value ** 1.3; }

function distanceText(cell, noPath) {
  if (cell === null) return "";
  return cell.distance >= noPath ? "" : String(cell.distance);
}

// Pictures of where one is and where one is to go, if the world has any.
function viewPair(here, goal) {
  if (!DATA.views) return null;
  const view = (state, name, text) => html("figure", { class: name },
    html("img", { src: DATA.views[state], alt: text, "data-state": state }), html("figcaption", {}, text));
  return html("div", { class: "street-views" }, view(here, "here", "the street ahead"), view(goal, "want", "to find"));
}

function pathOf(points) { return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""); }

function shortened(text, most = 18) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }

function replaceChildren(group, children) { group.replaceChildren(...children); }

function arrowHead(x, y, angle, size) {
  const at = turn => `${(x + size * Math.cos(angle + turn)).toFixed(1)} ${(y + size * Math.sin(angle + turn)).toFixed(1)}`;
  return `M${at(0)}L${at(2.5)}L${at(-2.5)}Z`;
}
