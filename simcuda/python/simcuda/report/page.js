"use strict";
// ---- Moving --------------------------------------------------------------------------------------

function zoom(factor, at = canvas.clientWidth / 2) {
  const here = view.x + (at - GUTTER) / view.scale;
  view.scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, view.scale * factor));
  view.x = here - (at - GUTTER) / view.scale;
  redraw();
}

function fit() {
  view.scale = Math.min(150, Math.max(LEAST_SCALE, (canvas.clientWidth - GUTTER - 20) / width));
  view.x = -10 / view.scale;
  view.y = 0;
  redraw();
}

function move(dx, dy) {
  view.x += dx / view.scale;
  view.y = Math.max(0, Math.min(view.y + dy, height - canvas.clientHeight + 20));
  redraw();
}

function reveal(i) {
  const row = rows[rowOf[i]], room = canvas.clientWidth - GUTTER, at = (x[i] - view.x) * view.scale;
  if (view.scale < 12) view.scale = 40;
  if (!(at > 20 && at < room - 120) || view.scale === 40) view.x = x[i] - room / 2.5 / view.scale;
  if (row.y < view.y || row.y + row.size > view.y + canvas.clientHeight) view.y = Math.max(0, row.y - canvas.clientHeight / 2);
}

function choose(i) {
  chosen = i;
  if (i >= 0) reveal(i);
  describe();
  redraw();
}

function step(by) {
  if (chosen < 0) return choose(rows.find(row => row.items.length && !row.head)?.items[0] ?? -1);
  const list = rows[rowOf[chosen]].items, next = list[lowerBound(list, x[chosen]) + by];
  if (next !== undefined) choose(next);
}

function stepRow(by) {
  if (chosen < 0) return step(0);
  for (let r = rowOf[chosen] + by; r >= 0 && r < rows.length; r += by) {
    const list = rows[r].items;
    if (!list.length || rows[r].head) continue;
    const n = lowerBound(list, x[chosen]), before = list[n - 1], after = list[n];
    return choose(after === undefined || (before !== undefined && x[chosen] - x[before] < x[after] - x[chosen]) ? before : after);
  }
}

function toggle(i) {
  const group = items.group[i];
  if (group < 0) return;
  open[group] = !open[group];
  place();
  choose(shownFor(i));
}

function foldAll() {
  open.fill(open.some(Boolean) ? 0 : 1);
  place();
  if (chosen >= 0) choose(shownFor(chosen)); else redraw();
}

function showRace(n) {
  if (!data.races.length) return;
  race = (n + data.races.length) % data.races.length;
  const { earlier, later } = data.races[race];
  const room = canvas.clientWidth - GUTTER, apart = Math.abs(x[later] - x[earlier]) + 3;
  choose(later);
  view.scale = Math.min(100, Math.max(LEAST_SCALE, room / apart));
  view.x = Math.min(x[earlier], x[later]) - 1.2;
  redraw();
}

// ---- Search --------------------------------------------------------------------------------------

// What can be found of an item is made of few texts: each is looked at once.
function search(text) {
  const wanted = text.trim().toLowerCase();
  found = [];
  foundAt = -1;
  if (wanted) {
    const hit = data.strings.map(string => string.toLowerCase().includes(wanted));
    const site = data.sites.map(lines => lines.some(line => hit[line]));
    const lane = lanes.map(lane => (lane.name + " " + lane.about).toLowerCase().includes(wanted));
    for (let i = 0; i < count; ++i)
      if (hit[items.name[i]] || hit[data.kindStrings[items.kind[i]]] || lane[items.lane[i]] || site[items.site[i]] || site[items.made[i]] ||
          items.notes[i].some(note => hit[note])) found.push(i);
  }
  part("found").textContent = wanted ? `${found.length} found` : "";
  markHits();
  redraw();
}

function markHits() {
  hits.fill(0);
  for (const i of found) hits[shownFor(i)] = 1;
}

function nextFound(by) {
  if (!found.length) return;
  foundAt = (foundAt + by + found.length) % found.length;
  part("found").textContent = `${foundAt + 1} of ${found.length} found`;
  choose(shownFor(found[foundAt]));
}

// ---- What is known of the chosen item ----------------------------------------------------------------

function element(name, text, parent) {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}

function describe() {
  const place = part("details");
  place.replaceChildren();
  if (chosen < 0) return element("p", "Nothing is chosen.", place);
  const i = chosen, lane = lanes[items.lane[i]];
  element("h2", labelOf(i) + (items.number[i] && !isFolded(i) ? ` (operation ${items.number[i]})` : ""), place);
  const list = element("dl", "", place);
  const tell = (what, value) => {
    element("dt", what, list);
    return element("dd", value, list);
  };
  const link = (where, other) => {
    const text = nameOf(other) + (items.number[other] ? ` (operation ${items.number[other]})` : "");
    element("a", text, where).onclick = () => choose(shownFor(other));
    where.append(" ");
  };
  const own = data.own[items.site[i]];
  if (own >= 0) tell("at", data.strings[own]);
  tell("lane", lane.about);
  if (kindOf(i) !== nameOf(i)) tell("kind", kindOf(i));
  const lines = items.notes[i].map(note => data.strings[note]);
  if (lines.length) tell(items.number[i] ? "memory" : "call", lines.join("\n")).style.whiteSpace = "pre-line";
  if (items.call[i] >= 0) link(tell("by", ""), items.call[i]);
  const links = (what, others) => {
    if (!others.length) return;
    const where = tell(what, "");
    others.slice(0, 20).forEach(other => link(where, other));
    if (others.length > 20) where.append(`and ${others.length - 20} more`);
  };
  const mine = edgesOf(i);
  links("waits for", mine.filter(e => edges.to[e] === i).map(e => edges.from[e]));
  links("is waited for by", mine.filter(e => edges.from[e] === i).map(e => edges.to[e]));
  const races = data.races.filter(({ earlier, later }) => earlier === i || later === i);
  links("races with", races.map(({ earlier, later }) => earlier === i ? later : earlier).filter(other => other !== i));
  const frames = (title, site) => {
    if (!data.sites[site].length) return;
    element("h2", title, place);
    element("pre", data.sites[site].map(line => data.strings[line]).join("\n"), place);
  };
  frames("called from (the innermost first)", items.site[i]);
  frames("the node was made at", items.made[i]);
  for (const { report } of races) element("pre", report, place).className = "red";
}

// ---- Events ----------------------------------------------------------------------------------------

function itemAt(event) {
  const box = canvas.getBoundingClientRect(), left = event.clientX - box.left, top = event.clientY - box.top + view.y;
  const row = rows.find(each => top >= each.y && top < each.y + each.size);
  if (!row || left < GUTTER) return { row, item: -1 };
  const at = view.x + (left - GUTTER) / view.scale, list = row.items;
  const item = list[lowerBound(list, at + 1e-9) - 1], near = Math.max(boxWidth(), 4);
  return { row, item: item !== undefined && left - toScreen(x[item]) <= near ? item : -1 };
}

let drag = null;
canvas.onpointerdown = event => {
  drag = { x: event.clientX, y: event.clientY, moved: false };
  canvas.setPointerCapture(event.pointerId);
};
canvas.onpointermove = event => {
  if (drag) {
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    move(-dx, -dy);
    drag = { x: event.clientX, y: event.clientY, moved: true };
    return;
  }
  const { row, item } = itemAt(event), tip = part("tip");
  const about = event.offsetX < GUTTER && row ? row.about : item >= 0 ? tipOf(item) : "";
  tip.hidden = !about;
  tip.textContent = about;
  tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 320)}px`;
  tip.style.top = `${event.clientY + 14}px`;
};
canvas.onpointerup = event => {
  const click = drag && !drag.moved;
  drag = null;
  if (!click) return;
  const { row, item } = itemAt(event);
  if (item < 0 && row && row.device !== undefined) return toggleDevice(row.device);
  choose(item);
};
canvas.onpointerleave = () => part("tip").hidden = true;
canvas.ondblclick = event => {
  const { item } = itemAt(event);
  if (item >= 0) toggle(item);
};
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX || event.deltaY, 0);
  else if (event.altKey || event.clientX - box.left < GUTTER) move(0, event.deltaY);
  else zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left);
}, { passive: false });

function tipOf(i) {
  const own = data.own[items.site[i]];
  return labelOf(i) + (own >= 0 ? ` · ${data.strings[own]}` : "");
}

function toggleDevice(device) {
  if (!closedDevices.delete(device)) closedDevices.add(device);
  placeRows();
  redraw();
}

function changeTheme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  readColours();
  redraw();
}

const KEYS = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => stepRow(-1), ArrowDown: () => stepRow(1),
  "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": fit, r: () => showRace(race + 1),
  "/": () => part("search").focus(), n: () => nextFound(1), N: () => nextFound(-1),
  Enter: () => chosen >= 0 && toggle(chosen), f: foldAll, t: changeTheme, Escape: () => choose(-1),
  "?": () => part("keys").hidden = !part("keys").hidden,
};
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === part("search")) {
    if (event.key === "Enter") nextFound(event.shiftKey ? -1 : 1);
    if (event.key === "Escape" || event.key === "Enter") canvas.focus();
    return;
  }
  if (event.target instanceof HTMLButtonElement && event.key === "Enter") return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
part("search").oninput = event => search(event.target.value);
part("in").onclick = () => zoom(1.5);
part("out").onclick = () => zoom(1 / 1.5);
part("fit").onclick = fit;
part("fold").onclick = foldAll;
part("theme").onclick = changeTheme;
part("help").onclick = KEYS["?"];
part("races").onclick = event => {
  const button = event.target.closest("button");
  if (button) showRace(Number(button.dataset.race));
};
matchMedia("(prefers-color-scheme: dark)").onchange = () => { readColours(); redraw(); };
new ResizeObserver(redraw).observe(canvas);

readColours();
place();
fit();
if (data.races.length) showRace(0);
canvas.focus();
draw();
document.body.dataset.ready = "1";
