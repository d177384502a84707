'use strict';
// Read-outs, zoom, series on and off, sorting and copying. The page is whole without this: values are read from the
// tables below the charts, places from their data- attributes.
//
// A live page hands each new <main> to tare.swap(html); what its reader has chosen stays.
const tare = (() => {
  const SVG = { width: 1000, height: 300 };
  const state = { zoom: null, off: new Set(), sort: new Map(), open: new Map(), at: null };
  const known = new WeakMap();

  // --- how values are written; the same words as in the tables of the report ---

  const trimmed = text => text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  const spaced = n => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ' ');

  function scaled(value, steps) {
    const [limit, size, unit] = steps.find(([limit]) => value < limit) ?? steps.at(-1);
    const n = value / size;
    return `${n.toFixed(n === 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2)} ${unit}`;
  }
  const time = ns => scaled(ns, [[999.5, 1, 'ns'], [999.5e3, 1e3, 'µs'], [999.5e6, 1e6, 'ms'], [600e9, 1e9, 's'], [Infinity, 60e9, 'min']]);
  const bytes = n => n < 1000 ? `${Math.round(n)} B` : scaled(n, [[999.5e3, 1e3, 'kB'], [999.5e6, 1e6, 'MB'], [Infinity, 1e9, 'GB']]);
  function number(n) {
    if (n >= 99.95) return spaced(n);
    if (n >= 9.995) return trimmed(n.toFixed(1));
    if (n >= 0.9995 || n === 0) return trimmed(n.toFixed(2));
    return n >= 0.001 ? trimmed(n.toFixed(3)) : n.toExponential(0);
  }
  function share(part) {
    const p = part * 100;
    if (p === 0 || p === 100) return `${p} %`;
    if (p < 0.001) return '< 0.001 %';
    if (p < 1) return `${trimmed(p.toFixed(3))} %`;
    if (p < 99 || p > 100) return `${trimmed(p.toFixed(1))} %`;
    return p < 99.999 ? `${trimmed(p.toFixed(3))} %` : '> 99.999 %';
  }
  const UNITS = {
    time: { text: time, of: ms => Math.round(ms * 1e6) },
    rate: { text: n => `${number(n)}/s`, of: n => n },
    share: { text: share, of: percent => percent / 100 },
    count: { text: number, of: n => n },
    bytes: { text: bytes, of: mega => Math.round(mega * 1e6) },
  };
  const two = n => String(n).padStart(2, '0');
  function clock(seconds) {
    if (seconds < 60) return trimmed(seconds.toFixed(3));
    const whole = Math.floor(seconds);
    const rest = trimmed((seconds - whole).toFixed(3)).slice(1);
    const tail = `${two(whole % 60)}${rest}`;
    return whole < 3600 ? `${Math.floor(whole / 60)}:${tail}` : `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${tail}`;
  }

  // --- a chart, read once from its figure and its table ---

  function model(figure) {
    if (known.has(figure)) return known.get(figure);
    const [axis, from, to] = figure.dataset.x.split(' ');
    const [scale, low, high] = figure.dataset.y.split(' ');
    const table = figure.querySelector('details.data table');
    if (!table) return null;
    const unit = UNITS[figure.dataset.unit];
    const is = { figure, axis, from: +from, to: +to, scale, low: +low, high: +high, unit, kind: figure.dataset.kind };
    is.id = figure.dataset.chart;
    is.canvas = figure.querySelector('.canvas');
    is.svg = is.canvas.querySelector('svg');
    is.heads = [...table.tHead.rows[0].cells].slice(1);
    is.names = [...figure.querySelectorAll('.legend button[data-series]')].map(button => button.textContent);
    is.xs = [];
    // '' is no row of this series, null a row without a value.
    is.columns = is.heads.map(() => []);
    for (const row of table.tBodies[0].rows) {
      is.xs.push(+row.cells[0].textContent);
      is.columns.forEach((column, n) => {
        const text = row.cells[n + 1]?.textContent.trim() ?? '';
        column.push(is.kind === 'heat' ? +text : text === '' ? '' : text === '–' ? null : unit.of(+text));
      });
    }
    known.set(figure, is);
    return is;
  }
  const charts = () => [...document.querySelectorAll('figure.chart')].map(model).filter(Boolean);
  const timed = () => charts().filter(chart => chart.axis === 'time');
  const ends = (chart, row) => chart.xs[row + 1] ?? chart.to;
  const middle = (chart, row) => chart.axis === 'time' ? (chart.xs[row] + ends(chart, row)) / 2 : chart.xs[row];
  const view = chart => {
    if (chart.axis !== 'time') return [0, 1];
    const [from, to] = state.zoom ?? [chart.from, chart.to];
    return [Math.max(from, chart.from), Math.min(to, chart.to)];
  };

  // 0 to 1 of the whole axis.
  function along(chart, x) {
    if (chart.axis === 'nines') return x >= 100 ? 1 : Math.min(1, -Math.log10((100 - x) / 100) / chart.to);
    if (chart.axis === 'lengths') return Math.min(1, Math.max(0, Math.log10(Math.max(x, chart.from) / chart.from) / Math.log10(chart.to / chart.from)));
    return chart.to > chart.from ? (x - chart.from) / (chart.to - chart.from) : 0.5;
  }
  // 0 to 1 of what is shown.
  function place(chart, x) {
    const [from, to] = chart.axis === 'time' ? view(chart).map(x => along(chart, x)) : [0, 1];
    return to > from ? (along(chart, x) - from) / (to - from) : 0.5;
  }
  function height(chart, y) {
    const { low, high } = chart;
    const part = chart.scale === 'log' ? Math.log10(Math.max(y, low) / low) / Math.log10(high / low) : y / high;
    return Math.min(1, Math.max(0, part));
  }
  function value(chart, part) {
    return chart.scale === 'log' ? chart.low * (chart.high / chart.low) ** part : chart.high * part;
  }
  // The row that is shown nearest to a place from 0 to 1.
  function rowAt(chart, part) {
    let best = 0;
    chart.xs.forEach((_, row) => {
      if (Math.abs(place(chart, middle(chart, row)) - part) < Math.abs(place(chart, middle(chart, best)) - part)) best = row;
    });
    return best;
  }
  function rowOf(chart, x) {
    let row = 0;
    while (row + 1 < chart.xs.length && chart.xs[row + 1] <= x) row += 1;
    return row;
  }
  // Where runs with other steps share a table, a value holds until that run's next row.
  function cell(chart, column, row) {
    while (row > 0 && chart.columns[column][row] === '') row -= 1;
    const found = chart.columns[column][row];
    return found === '' ? null : found;
  }

  // --- the read-out ---

  function make(tag, name, parent, text) {
    const element = document.createElement(tag);
    element.className = name;
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }
  const isOff = (chart, n) => state.off.has(`${chart.id}|${chart.names[n]}`);

  function spanText(chart, row) {
    if (chart.axis === 'nines') return `${chart.xs[row]} % of all took at most`;
    if (chart.axis === 'lengths') return `${UNITS.time.text(chart.xs[row])} – ${UNITS.time.text(ends(chart, row))}`;
    if (chart.axis === 'values') return `at ${chart.xs[row]}`;
    const unit = ends(chart, row) < 60 ? ' s' : '';
    return `${clock(chart.xs[row])} – ${clock(ends(chart, row))}${unit}`;
  }
  function heatLines(chart, row, part) {
    const counts = chart.columns.map((_, n) => cell(chart, n, row) ?? 0);
    const bands = chart.heads.map(head => [+head.dataset.from, +head.dataset.to]);
    const all = counts.reduce((sum, n) => sum + n, 0);
    const wanted = part === null ? counts.indexOf(Math.max(...counts)) : bands.findIndex(([from, to]) => value(chart, part) >= from && value(chart, part) < to);
    const count = n => `${spaced(n)} ${n === 1 ? 'request' : 'requests'}`;
    const said = wanted >= 0 && all > 0 ? [`${chart.heads[wanted].textContent}: ${count(counts[wanted])}`] : [];
    return [...said, `of ${count(all)}`].map(text => ({ text }));
  }
  function seriesLines(chart, row) {
    const lines = chart.names.map((name, n) => ({ n, name, value: cell(chart, n, row) })).filter(line => !isOff(chart, line.n));
    const shown = chart.kind === 'stacked' && lines.length > 5 ? lines.filter(line => line.value) : lines;
    return shown.map(line => ({ ...line, text: `${line.name} ${line.value === null ? '–' : chart.unit.text(line.value)}` }));
  }

  function show(chart, row, part) {
    const { canvas } = chart;
    const left = place(chart, middle(chart, row));
    canvas.querySelectorAll('.cross, .dot, .box').forEach(old => old.remove());
    if (left < -0.001 || left > 1.001) return;
    make('div', 'cross', canvas).style.left = `${left * 100}%`;
    const lines = chart.kind === 'heat' ? heatLines(chart, row, part) : seriesLines(chart, row);
    const box = make('div', left > 0.5 ? 'box west' : 'box', canvas);
    if (canvas === document.activeElement) box.setAttribute('role', 'status');
    box.style[left > 0.5 ? 'right' : 'left'] = `calc(${(left > 0.5 ? 1 - left : left) * 100}% + 10px)`;
    make('div', 'when', box, spanText(chart, row));
    for (const line of lines) {
      const item = make('div', '', box, line.text);
      if (line.n === undefined) continue;
      item.prepend(chart.figure.querySelectorAll('.legend .key')[line.n].cloneNode(true));
      if (chart.kind !== 'lines' || line.value === null) continue;
      const dot = make('i', `dot ${chart.svg.querySelector(`.line[data-series="${line.n}"]`).classList[1]}`, canvas);
      dot.style.left = `${left * 100}%`;
      dot.style.top = `${(1 - height(chart, line.value)) * 100}%`;
    }
  }
  function hide() {
    state.at = null;
    document.querySelectorAll('.cross, .dot, .box').forEach(old => old.remove());
  }
  // Points at a row of one chart; all charts over time follow.
  function point(chart, row, part = null) {
    row = Math.min(chart.xs.length - 1, Math.max(0, row));
    const x = middle(chart, row);
    state.at = { id: chart.id, row, x };
    for (const other of charts()) {
      if (other === chart) show(chart, row, part);
      else if (chart.axis === 'time' && other.axis === 'time') show(other, rowOf(other, x), null);
      else other.canvas.querySelectorAll('.cross, .dot, .box').forEach(old => old.remove());
    }
  }

  // --- zoom on time ---

  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  function nice(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map(step => step * power).find(step => step >= least * 0.999999);
  }
  function ticks(from, to) {
    const span = Math.max(0, to - from);
    const step = span < 2 ? nice(Math.max(span / 5, 1e-6)) : span <= 8 ? 1 : STEPS.find(step => span / step <= 8) ?? nice(span / 8);
    const all = [];
    for (let n = Math.ceil(from / step - 1e-9); n <= Math.floor(to / step + 1e-9) && all.length < 10; n += 1) {
      const at = n * step;
      all.push([at, at < 60 || step < 1 ? `${step < 1 ? number(at) : at} s` : clock(at)]);
    }
    return all;
  }
  function drawView(chart) {
    const [from, to] = view(chart);
    const left = along(chart, from) * SVG.width;
    const wide = Math.max(1e-3, (along(chart, to) - along(chart, from)) * SVG.width);
    if (to > from) chart.svg.setAttribute('viewBox', `${left} 0 ${wide} ${SVG.height}`);
    const labels = chart.figure.querySelector('.xs');
    const grid = chart.svg.querySelector('.gx');
    const marks = ticks(from, to);
    labels.replaceChildren();
    marks.forEach(([at, text], n) => {
      make('span', n % 2 ? 'odd' : '', labels, text).style.left = `${place(chart, at) * 100}%`;
    });
    grid.setAttribute('d', marks.map(([at]) => `M${along(chart, at) * SVG.width} 0V${SVG.height}`).join(''));
  }
  function zoom(range) {
    const all = timed();
    if (all.length === 0) return;
    const from = Math.min(...all.map(chart => chart.from));
    const to = Math.max(...all.map(chart => chart.to));
    if (range) {
      const least = (to - from) / 2000;
      const low = Math.max(from, Math.min(...range));
      const high = Math.min(to, Math.max(...range));
      range = high - low < least || (low <= from && high >= to) ? null : [low, high];
    }
    state.zoom = range;
    document.documentElement.classList.toggle('zoomed', range !== null);
    all.forEach(drawView);
    if (state.at) {
      const chart = charts().find(chart => chart.id === state.at.id);
      if (chart) point(chart, state.at.row);
    }
  }
  function zoomBy(factor) {
    const chart = timed()[0];
    if (!chart) return;
    const [from, to] = state.zoom ?? [chart.from, chart.to];
    const at = state.at ? state.at.x : (from + to) / 2;
    const centre = at >= from && at <= to ? at : (from + to) / 2;
    const half = (to - from) * factor / 2;
    zoom([centre - half, centre + half]);
  }

  // --- series on and off ---

  function drawSeries(chart) {
    const paths = [...chart.svg.querySelectorAll('path[data-series]')].sort((a, b) => a.dataset.series - b.dataset.series);
    chart.figure.querySelectorAll('.legend button[data-series]').forEach((button, n) => {
      button.setAttribute('aria-pressed', String(!isOff(chart, n)));
      paths[n].style.display = isOff(chart, n) ? 'none' : '';
    });
    if (chart.kind === 'stacked') drawStack(chart, paths);
    // A band without one of its lines is no band.
    const band = chart.svg.querySelector('.band');
    if (band) band.style.display = band.dataset.lines.split(' ').some(n => isOff(chart, +n)) ? 'none' : '';
  }
  // What is off leaves no hole, and the rest may use the room.
  function drawStack(chart, paths) {
    const shown = paths.map((_, n) => n).filter(n => !isOff(chart, n));
    const sums = chart.xs.map((_, row) => shown.reduce((sum, n) => sum + (cell(chart, n, row) ?? 0), 0));
    chart.whole ??= chart.high;
    chart.high = chart.whole;
    let step = nice(chart.high / 4);
    const most = Math.max(...sums);
    if (shown.length < paths.length && most > 0 && most < chart.whole) {
      step = nice(most / 4);
      chart.high = Math.ceil(most * 1.02 / step) * step;
    }
    drawHeights(chart, step);
    const below = chart.xs.map(() => 0);
    const x = at => (along(chart, at) * SVG.width).toFixed(1);
    const y = at => ((1 - height(chart, at)) * SVG.height).toFixed(1);
    paths.forEach((path, n) => {
      if (isOff(chart, n)) return;
      const bars = chart.xs.map((from, row) => {
        const tall = cell(chart, n, row);
        if (!tall) return '';
        const foot = below[row];
        below[row] += tall;
        return `M${x(from)} ${y(foot)}H${x(ends(chart, row))}V${y(below[row])}H${x(from)}z`;
      });
      path.setAttribute('d', bars.join(''));
    });
  }
  function drawHeights(chart, step) {
    const labels = chart.figure.querySelector('.ys');
    labels.replaceChildren();
    const marks = [];
    for (let n = 0; n * step <= chart.high * 1.0001; n += 1) marks.push(n * step);
    for (const mark of marks) {
      const [number, ...unit] = chart.figure.dataset.unit === 'time' && mark > 0 ? time(mark).split(' ') : [numberOf(chart, mark)];
      make('span', '', labels, [trimmed(number), ...unit].join(' ')).style.top = `${(1 - height(chart, mark)) * 100}%`;
    }
    const rows = marks.map(mark => `M0 ${(1 - height(chart, mark)) * SVG.height}H${SVG.width}`);
    chart.svg.querySelector('.grid:not(.gx)').setAttribute('d', rows.join(''));
  }
  const numberOf = (chart, mark) => chart.figure.dataset.unit === 'share' ? share(mark) : number(mark);
  function toggle(figure, button) {
    const chart = model(figure);
    const key = `${chart.id}|${chart.names[+button.dataset.series]}`;
    if (!state.off.delete(key)) state.off.add(key);
    drawSeries(chart);
    if (state.at) point(charts().find(other => other.id === state.at.id) ?? chart, state.at.row);
  }

  // --- tables and commands ---

  function sort(table, column, descending) {
    const key = row => {
      const cell = row.cells[column];
      return 'v' in cell.dataset ? +cell.dataset.v : cell.textContent;
    };
    const order = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true });
    const rows = [...table.tBodies[0].rows].sort((a, b) => order(key(a), key(b)) * (descending ? -1 : 1));
    table.tBodies[0].append(...rows);
    [...table.tHead.rows[0].cells].forEach((head, n) => {
      if (n === column) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    state.sort.set(table.id, [column, descending]);
  }
  function clickHead(button) {
    const head = button.closest('th');
    // Numbers begin with the largest.
    const first = head.classList.contains('n') ? 'descending' : 'ascending';
    const now = head.getAttribute('aria-sort');
    const next = now === null ? first : now === 'ascending' ? 'descending' : 'ascending';
    sort(head.closest('table'), head.cellIndex, next === 'descending');
  }
  async function copy(button) {
    const source = button.parentElement.querySelector('pre');
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      document.execCommand('copy');
    }
    button.textContent = 'copied';
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  }

  // --- what people do ---

  let drag = null;
  const canvasOf = event => event.target.closest?.('.canvas');
  const partAt = (canvas, event) => {
    const { left, width, top, height } = canvas.getBoundingClientRect();
    return [(event.clientX - left) / width, 1 - (event.clientY - top) / height];
  };
  const clamped = part => Math.min(1, Math.max(0, part));

  function pointerMove(event) {
    const canvas = drag?.canvas ?? canvasOf(event);
    if (!canvas) {
      // A read-out by keyboard stays.
      if (state.at && !document.activeElement?.matches('.canvas')) hide();
      return;
    }
    const chart = model(canvas.closest('figure'));
    if (!chart) return;
    const [x, y] = partAt(canvas, event);
    if (drag) {
      const [from, to] = [drag.x, clamped(x)].sort((a, b) => a - b);
      drag.mark.style.left = `${from * 100}%`;
      drag.mark.style.width = `${(to - from) * 100}%`;
    }
    point(chart, rowAt(chart, clamped(x)), clamped(y));
  }
  function pointerDown(event) {
    const canvas = canvasOf(event);
    if (!canvas || event.button !== 0) return;
    const chart = model(canvas.closest('figure'));
    if (!chart || chart.axis !== 'time') return;
    drag = { canvas, x: clamped(partAt(canvas, event)[0]), mark: make('div', 'chosen', canvas) };
  }
  function pointerUp(event) {
    if (!drag) return;
    const { canvas, x, mark } = drag;
    drag = null;
    mark.remove();
    const to = clamped(partAt(canvas, event)[0]);
    const chart = model(canvas.closest('figure'));
    if (event.type === 'pointercancel' || Math.abs(to - x) * canvas.clientWidth < 6) return;
    const [from, until] = view(chart);
    zoom([x, to].map(part => from + part * (until - from)));
  }
  function keyDown(event) {
    const canvas = canvasOf(event);
    if (event.key === 'Escape') {
      hide();
      zoom(null);
      return;
    }
    const chart = canvas && model(canvas.closest('figure'));
    if (!chart || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = chart.xs.length - 1;
    const row = state.at?.id === chart.id ? state.at.row : null;
    const by = event.shiftKey ? 10 : 1;
    const to = {
      ArrowRight: row === null ? 0 : row + by,
      ArrowLeft: row === null ? last : row - by,
      Home: 0,
      End: last,
    }[event.key];
    if (to !== undefined) point(chart, to);
    else if (event.key === '+' || event.key === '=') zoomBy(0.5);
    else if (event.key === '-') zoomBy(2);
    else return;
    event.preventDefault();
  }
  function click(event) {
    const summary = event.target.closest?.('summary');
    // It opens or closes after this.
    if (summary) state.open.set(summary.parentElement.id, !summary.parentElement.open);
    const button = event.target.closest?.('button');
    if (!button) return;
    if (button.dataset.series !== undefined) toggle(button.closest('figure'), button);
    else if (button.dataset.zoom) ({ in: () => zoomBy(0.5), out: () => zoomBy(2), all: () => zoom(null) })[button.dataset.zoom]();
    else if (button.classList.contains('copy')) copy(button);
    else if (button.closest('table.sortable thead')) clickHead(button);
  }

  // --- a page begins, or is handed a new <main> ---

  function ready() {
    for (const canvas of document.querySelectorAll('figure.chart .canvas')) {
      canvas.tabIndex = 0;
      canvas.setAttribute('aria-description', 'Arrow keys read values out; plus and minus zoom, Escape shows all.');
    }
    for (const head of document.querySelectorAll('table.sortable thead th')) {
      const button = make('button', 'sort', head, head.textContent);
      button.type = 'button';
      head.replaceChildren(button);
    }
    for (const [id, [column, descending]] of state.sort) {
      const table = document.getElementById(id);
      if (table) sort(table, column, descending);
    }
    for (const chart of charts()) {
      if ([...state.off].some(key => key.startsWith(`${chart.id}|`))) drawSeries(chart);
    }
    if (state.zoom) zoom(state.zoom);
  }
  // Where the focus is, in words that hold for the next page too.
  function focusPath() {
    const element = document.activeElement;
    const home = element?.closest('[id]');
    if (!home) return null;
    const all = [...home.querySelectorAll('a, button, summary, [tabindex]')];
    return element === home ? [home.id, -1] : [home.id, all.indexOf(element)];
  }
  function swap(html) {
    const chosen = state.at;
    const focus = focusPath();
    document.querySelector('main').innerHTML = html;
    for (const [id, is] of state.open) {
      const details = document.getElementById(id);
      if (details) details.open = is;
    }
    ready();
    const home = focus && document.getElementById(focus[0]);
    if (home) {
      const element = focus[1] < 0 ? home : home.querySelectorAll('a, button, summary, [tabindex]')[focus[1]];
      element?.focus({ preventScroll: true });
    }
    const chart = chosen && charts().find(chart => chart.id === chosen.id);
    if (chart) point(chart, chosen.row);
  }

  document.documentElement.classList.add('script');
  document.addEventListener('pointermove', pointerMove);
  document.addEventListener('pointerdown', pointerDown);
  document.addEventListener('pointerup', pointerUp);
  document.addEventListener('pointercancel', pointerUp);
  document.addEventListener('keydown', keyDown);
  document.addEventListener('click', click);
  document.addEventListener('dblclick', event => { if (canvasOf(event)) zoom(null); });
  document.addEventListener('focusout', event => { if (canvasOf(event)) hide(); });
  ready();
  return { swap };
})();
