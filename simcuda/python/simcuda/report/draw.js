"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const items = data.items, count = items.lane.length, edges = data.edges, lanes = data.lanes;
const part = name => document.getElementById(name);
const canvas = part("view"), context = canvas.getContext("2d");

const ROW = 26, HEAD = 22, GUTTER = 190, MOST_ARROWS = 3000, LEAST_SCALE = 1e-4, MOST_SCALE = 400;
const COLOURS = {
  "call": "call", "host": "host", "copy": "copy", "memset": "memset", "kernel": "kernel",
  "failed call": "failed", "event record": "event", "event wait": "event", "allocate": "memory", "free": "memory",
};
const kindOf = i => data.kinds[items.kind[i]];
const nameOf = i => data.strings[items.name[i]];
const racing = new Set(data.races.flatMap(race => [race.earlier, race.later]));
const racingGroups = new Set([...racing].map(i => items.group[i]).filter(group => group >= 0));

// What the user has done.
const view = { x: 0, y: 0, scale: 40 };
const open = new Uint8Array(data.groups.length), closedDevices = new Set();
const hits = new Uint8Array(count);  // what a search has found, as it is drawn
let chosen = -1, found = [], foundAt = -1, race = -1;

// ---- Places: x of each item, y of each row -----------------------------------------------------

let x, rows, rowOf, height, width, byEnd, byBegin;
const sizes = new Uint32Array(data.groups.length);
for (let i = 0; i < count; ++i) if (items.group[i] >= 0) ++sizes[items.group[i]];

function place() {
  const next = new Float64Array(data.processes.length), ofGroup = new Float64Array(data.groups.length).fill(-1);
  x = new Float64Array(count);
  for (let i = 0; i < count; ++i) {
    const group = items.group[i], process = lanes[items.lane[i]].process;
    const folded = group >= 0 && !open[group];
    if (folded && ofGroup[group] >= 0) {
      x[i] = ofGroup[group];
      continue;
    }
    // An operation is below its call, if nothing came between them.
    const below = items.call[i] >= 0 && items.call[i] === i - 1 && x[i - 1] === next[process] - 1;
    x[i] = below ? x[i - 1] : next[process]++;
    if (folded) ofGroup[group] = x[i];
  }
  width = Math.max(1, ...next);
  placeRows();
  byBegin = sorted(edges.from);
  byEnd = sorted(edges.to);
}

function sorted(ends) {
  return Uint32Array.from(ends.keys()).sort((a, b) => x[ends[a]] - x[ends[b]]);
}

function placeRows() {
  const branches = new Uint32Array(lanes.length);
  for (let i = 0; i < count; ++i)
    if (items.branch[i] && open[items.group[i]])
      branches[items.lane[i]] = Math.max(branches[items.lane[i]], items.branch[i]);
  rows = [];
  height = 0;
  const add = (row, size) => {
    rows.push(Object.assign(row, { y: height, size, items: [] }));
    height += size;
    return rows.length - 1;
  };
  const first = new Int32Array(lanes.length);
  data.processes.forEach((name, process) => {
    add({ name, about: name, head: true, process }, HEAD);
    let device = null, strip = -1;
    lanes.forEach((lane, l) => {
      if (lane.process !== process) return;
      if (lane.device !== null && lane.device !== device) {
        device = lane.device;
        strip = add({ name: `device ${device}`, about: "", head: true, device: `${process} ${device}` }, HEAD);
      }
      lane.strip = lane.device === null ? -1 : strip;
      if (lane.device !== null && closedDevices.has(rows[strip].device)) {
        first[l] = strip;
        return;
      }
      first[l] = rows.length;
      for (let branch = 0; branch <= branches[l]; ++branch)
        add({ name: branch ? "" : lane.name, about: lane.about, lane: l }, ROW);
    });
  });
  rowOf = new Uint32Array(count);
  const drawn = new Uint8Array(data.groups.length);
  for (let i = 0; i < count; ++i) {
    const group = items.group[i], lane = items.lane[i], folded = group >= 0 && !open[group];
    const closed = rows[first[lane]].head;
    rowOf[i] = first[lane] + (closed || folded ? 0 : items.branch[i]);
    if (folded && drawn[group]++) continue;
    if (lanes[lane].strip >= 0) rows[lanes[lane].strip].items.push(i);
    if (!closed) rows[rowOf[i]].items.push(i);
  }
  for (const row of rows) row.items.sort((a, b) => x[a] - x[b]);
  markHits();
}

const isFolded = i => items.group[i] >= 0 && !open[items.group[i]];
const labelOf = i => isFolded(i)
  ? (data.groups[items.group[i]] === "graph" ? `graph (${sizes[items.group[i]]})` : `capture (${sizes[items.group[i]]} calls)`)
  : nameOf(i);
// The one that is drawn for an item: of a folded group, its first.
const shownFor = i => isFolded(i) ? rows[rowOf[i]].items[lowerBound(rows[rowOf[i]].items, x[i])] : i;

function lowerBound(list, at, key = i => x[i]) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) < at) low = middle + 1; else high = middle;
  }
  return low;
}

// ---- Drawing: only what is in view ---------------------------------------------------------------

let colours = {}, dirty = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["back", "band", "line", "text", "faint", "arrow", "race", "chosen", "found", "tail", "call", "host", "failed", "copy",
    "memset", "kernel", "event", "memory", "other"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
}

const isRacing = i => racing.has(i) || (isFolded(i) && racingGroups.has(items.group[i]));
const colourOf = i => isRacing(i) ? colours.race : colours[COLOURS[kindOf(i)] || "other"];
const toScreen = at => GUTTER + (at - view.x) * view.scale;
const middleOf = i => rows[rowOf[i]].y - view.y + rows[rowOf[i]].size / 2;
const boxWidth = () => Math.max(1.5, Math.min(view.scale * 0.8, Math.max(view.scale - 6, 1)));

function redraw() {
  if (dirty) return;
  dirty = true;
  requestAnimationFrame(() => {
    dirty = false;
    draw();
  });
}

function draw() {
  const ratio = devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
  if (canvas.width !== wide * ratio || canvas.height !== high * ratio) {
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.back;
  context.fillRect(0, 0, wide, high);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  let marks = 0;
  const visible = rows.filter(row => row.y + row.size > view.y && row.y < view.y + high);
  visible.forEach(row => {
    context.fillStyle = row.head ? colours.band : colours.back;
    context.fillRect(0, row.y - view.y, wide, row.size);
    context.fillStyle = colours.line;
    context.fillRect(0, row.y - view.y + row.size - 1, wide, 1);
  });
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, wide - GUTTER, high);
  context.clip();
  for (const row of visible) marks += drawRow(row, wide);
  marks += drawArrows(wide);
  for (const i of racing) outline(i, colours.race, 2, wide);
  if (chosen >= 0) outline(chosen, colours.chosen, 2.5, wide);
  context.restore();
  for (const row of visible) drawName(row);
  canvas.dataset.marks = marks;
}

function drawRow(row, wide) {
  const list = row.items, box = boxWidth(), first = view.x - 1, last = view.x + (wide - GUTTER) / view.scale;
  let marks = 0;
  for (let n = lowerBound(list, first); n < list.length && x[list[n]] <= last; ++marks) {
    const i = list[n], left = toScreen(x[i]), top = row.y - view.y + 4, high = row.size - 9;
    if (!row.head && view.scale > 3 && items.until[i] >= 0) {
      const end = toScreen(x[items.until[i]]);
      context.fillStyle = colours.tail;
      if (end > left + box) context.fillRect(left + box, top, Math.min(end, wide) - left - box, high);
    }
    context.fillStyle = colourOf(i);
    if (view.scale >= 12 && !row.head) {  // pale, for the text on it
      context.globalAlpha = isRacing(i) ? 0.45 : 0.35;
      context.fillRect(left, top, box, high);
      context.globalAlpha = 1;
      context.fillRect(left, top, 3, high);
    } else {
      context.fillRect(left, top, box, high);
    }
    if (hits[i]) markHit(left, top, box, high);
    if (view.scale >= 3) {
      ++n;
      const room = (n < list.length ? toScreen(x[list[n]]) : Infinity) - left - 8;
      if (room > 24 && !row.head) drawText(labelOf(i), left + 6, row.y - view.y + row.size / 2, Math.min(room, wide));
    } else {  // all that is within this pixel is one mark
      n = Math.max(n + 1, lowerBound(list, view.x + (Math.floor(left) + 1 - GUTTER) / view.scale));
    }
  }
  return marks;
}

function markHit(left, top, box, high) {
  context.fillStyle = context.strokeStyle = colours.found;
  context.lineWidth = 1.5;
  if (view.scale < 3) context.fillRect(left, top, box, high); else context.strokeRect(left - 1, top - 1, box + 2, high + 2);
}

const widths = new Map();

function drawText(text, left, middle, room, colour = colours.text) {
  if (!widths.has(text)) widths.set(text, context.measureText(text).width);
  const share = room / widths.get(text);
  context.fillStyle = colour;
  context.fillText(share < 1 ? text.slice(0, Math.max(Math.floor(text.length * share) - 1, 1)) + "…" : text, left, middle);
}

function drawName(row) {
  const top = row.y - view.y, ofProcess = row.head && row.device === undefined;
  context.fillStyle = row.head ? colours.band : colours.back;
  context.fillRect(0, top, GUTTER - 1, row.size - 1);
  context.fillStyle = colours.line;
  if (!ofProcess) context.fillRect(GUTTER - 1, top, 1, row.size);
  const sign = row.device === undefined ? "" : closedDevices.has(row.device) ? "▸ " : "▾ ";
  const indent = ofProcess ? 6 : row.device ? 12 : 22;
  const room = (ofProcess ? canvas.clientWidth : GUTTER) - indent - 8;
  drawText(sign + row.name, indent, top + row.size / 2, room, row.head ? colours.faint : colours.text);
}

function outline(i, colour, thick, wide) {
  const left = toScreen(x[i]), box = boxWidth();
  if (left + box < GUTTER || left > wide) return;
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(left - 1, rows[rowOf[i]].y - view.y + 3, box + 2, rows[rowOf[i]].size - 7);
}

function drawArrows(wide) {
  const first = view.x, last = view.x + (wide - GUTTER) / view.scale;
  const inView = (order, ends) => {
    const key = e => x[ends[e]];
    return order.subarray(lowerBound(order, first, key), lowerBound(order, last, key));
  };
  const ending = inView(byEnd, edges.to), beginning = inView(byBegin, edges.from);
  let drawn = 0;
  if (ending.length + beginning.length <= MOST_ARROWS) {
    for (const e of ending) drawn += arrow(edges.from[e], edges.to[e], colours.arrow, 1);
    for (const e of beginning) if (x[edges.to[e]] > last) drawn += arrow(edges.from[e], edges.to[e], colours.arrow, 1);
  }
  if (chosen >= 0)
    for (const e of edgesOf(chosen)) drawn += arrow(edges.from[e], edges.to[e], colours.chosen, 1.8);
  for (const { earlier, later } of data.races) if (earlier !== later) drawn += arrow(earlier, later, colours.race, 2, [6, 4]);
  return drawn;
}

// Out of a box, straight to the other one's row, along its edge, and into the box from the left.
function arrow(from, to, colour, thick, dashes = []) {
  if (x[from] === x[to] && rowOf[from] === rowOf[to]) return 0;  // both in one that is folded
  const begin = toScreen(x[from]) + boxWidth() / 2, end = toScreen(x[to]), y0 = middleOf(from), y1 = middleOf(to);
  const down = Math.sign(y1 - y0), bend = Math.max(0, Math.min(14, (end - begin) / 2)), along = y1 - 12 * down;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = thick;
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(begin, y0 + 8 * down);
  context.quadraticCurveTo(begin, along, begin + bend, along);
  context.lineTo(end - bend - 4, along);
  context.quadraticCurveTo(end - 6, along, end - 4, y1);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(end, y1);
  context.lineTo(end - 6, y1 - 3);
  context.lineTo(end - 6, y1 + 3);
  context.fill();
  return 1;
}

function edgesOf(i) {
  const mine = [];
  for (let e = 0; e < edges.from.length; ++e) if (edges.from[e] === i || edges.to[e] === i) mine.push(e);
  return mine;
}
