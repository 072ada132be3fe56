// The page asks the same API as everybody else: see /docs. Text from the service is only ever set as text.
'use strict';

const $ = id => document.getElementById(id);

async function ask(path, options = {}) {
  const token = sessionStorage.getItem('token');
  const headers = { ...(options.headers || {}) };
  if (token) headers.Authorization = 'Bearer ' + token;
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) $('login').hidden = false;
  if (!response.ok) {
    const problem = await response.json().catch(() => ({ detail: response.statusText }));
    throw new Error([problem.detail, ...(problem.hints || []).filter(h => h && !problem.detail.includes(h))].join(' — '));
  }
  return (response.headers.get('Content-Type') || '').includes('json') ? response.json() : response.text();
}

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function table(into, heads, rows, nothing) {
  if (!rows.length) return into.replaceChildren(element('p', nothing, 'dim'));
  const t = element('table'), head = t.createTHead().insertRow(), body = t.createTBody();
  for (const h of heads) head.append(element('th', h));
  for (const r of rows) {
    const row = body.insertRow();
    for (const v of r) row.append(v instanceof Node ? v : element('td', v ?? '', typeof v === 'number' ? 'n' : ''));
  }
  into.replaceChildren(t);
}

// fold writes names as node[001-004]: runs of numbers of one width behind one prefix.
function fold(names) {
  const out = [];
  let run = null;
  for (const name of names) {
    const m = /^(.*?)(\d+)$/.exec(name);
    if (run && m && m[1] === run.prefix && m[2].length === run.last.length && +m[2] === +run.last + 1) { run.last = m[2]; continue; }
    run = m ? { prefix: m[1], first: m[2], last: m[2] } : null;
    out.push(run || name);
  }
  return out.map(r => typeof r === 'string' ? r : r.first === r.last ? r.prefix + r.first : `${r.prefix}[${r.first}-${r.last}]`).join(', ');
}

let cells = new Map(), root = null, held = new Set(), chosen = new Set();

async function showMap() {
  const text = await ask('/v1/topology.svg');
  const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  root = root || $('map').attachShadow({ mode: 'open' }); // its styles stay its own
  const style = element('style', 'rect.held { stroke: #1971c2; stroke-width: 2.5 } rect.chosen { stroke: #d6336c; stroke-width: 3 }');
  root.replaceChildren(style, document.importNode(svg, true));
  cells = new Map();
  for (const title of root.querySelectorAll('rect > title')) cells.set(title.textContent.split(':')[0], title.parentNode);
  mark();
}

function mark() {
  for (const [name, cell] of cells) {
    cell.classList.toggle('held', held.has(name));
    cell.classList.toggle('chosen', chosen.has(name));
  }
  $('legend').textContent = `blue outline: held by a lease (${held.size} nodes)` + (chosen.size ? `; red outline: the answer above (${chosen.size} nodes)` : '');
}

async function showLeases() {
  const { leases } = await ask('/v1/leases?live=true');
  held = new Set(leases.flatMap(l => l.claims.map(c => c.node)));
  table($('leases'), ['Lease', 'Phase', 'Holder', 'Job', 'Nodes', 'Hosts', 'Expires'], leases.map(l => [l.id, l.phase, l.holder,
    [l.side, l.job].filter(Boolean).join(' '), l.claims.length, fold(l.claims.map(c => c.node)), new Date(l.expiresAt).toLocaleString()]), 'Nothing is held.');
  mark();
}

async function showFindings() {
  const { findings } = await ask('/v1/topology/findings');
  table($('findings'), ['Severity', 'Subject', 'What is wrong', 'What to do'], findings.slice(0, 200).map(f =>
    [element('td', f.severity, f.severity), f.subject, f.message, f.remedy]), 'Nothing to look at.');
  return findings.length;
}

async function showTiles(findings) {
  const topology = await ask('/v1/topology');
  const gpus = topology.nodes.reduce((sum, n) => sum + (n.gpuCount || 0), 0);
  const tiles = [['nodes', topology.nodes.length], ['GPUs', gpus || '?'], ['nodes held', held.size], ['findings', findings], ['generation', topology.generation]];
  $('tiles').replaceChildren(...tiles.map(([name, value]) => {
    const d = element('div');
    d.append(element('b', String(value)), name);
    return d;
  }));
}

let busy = false, again = false;

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    await showLeases();
    await showMap();
    await showTiles(await showFindings());
    $('state').textContent = 'as of ' + new Date().toLocaleTimeString();
    $('state').className = '';
  } catch (error) {
    $('state').textContent = error.message;
    $('state').className = 'error';
  }
  busy = false;
  if (again) { again = false; setTimeout(refresh, 1000); }
}

function command(request) {
  let line = `railmap place --server ${location.origin} -N ${request.nodes}`;
  if (request.gpusPerNode) line += ` --gpus-per-node ${request.gpusPerNode}`;
  if (request.within) line += ` --within ${request.within}`;
  if (request.collective !== 'ring') line += ` --collective ${request.collective}`;
  if (request.exclude) line += ` --exclude '${request.exclude.join(',')}'`;
  return `sbatch $(${line} --lease 15m -o sbatch) job.sh`;
}

async function whatIf(event) {
  event.preventDefault();
  const form = new FormData(event.target), request = { nodes: +form.get('nodes'), collective: form.get('collective') };
  if (form.get('gpusPerNode')) request.gpusPerNode = +form.get('gpusPerNode');
  if (form.get('within')) request.within = form.get('within');
  const exclude = form.get('exclude').split(/[\s,]+/).filter(Boolean);
  if (exclude.length) request.exclude = exclude;
  const answer = $('answer');
  history.replaceState(null, '', '#' + new URLSearchParams([...form].filter(([, v]) => v)));
  try {
    const { placement: p } = await ask('/v1/placements', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ request }) });
    chosen = new Set(p.nodes);
    const speed = p.predicted.busBandwidthBytesPerSecond;
    const lines = [fold(p.nodes), `${(100 * p.share).toFixed(1)} % of nominal bandwidth` + (speed ? `, bus bandwidth ${(speed / 1e9).toFixed(0)} GB/s` : '') +
      `, ${(100 * p.loss).toFixed(1)} % below the empty cluster`, ...(p.reasons || [])];
    answer.replaceChildren(element('pre', lines.join('\n')), element('pre', command(request)));
    if (p.alternatives) {
      const next = element('div');
      table(next, ['Next best', 'Share', 'Nodes'], p.alternatives.map(a => [`${a.level} ${a.group || ''}`, a.share.toFixed(3), fold(a.nodes)]), '');
      answer.append(next);
    }
  } catch (error) {
    chosen = new Set();
    answer.replaceChildren(element('p', error.message, 'error'));
  }
  mark();
}

$('whatif').addEventListener('submit', whatIf);
$('login').querySelector('form').addEventListener('submit', event => {
  event.preventDefault();
  sessionStorage.setItem('token', new FormData(event.target).get('token'));
  $('login').hidden = true;
  refresh();
});
// A link such as #nodes=16&within=pod asks at once: for tickets.
const asked = new URLSearchParams(location.hash.slice(1));
for (const [name, value] of asked) if ($('whatif').elements[name]) $('whatif').elements[name].value = value;
refresh().then(() => { if (asked.has('nodes')) $('whatif').requestSubmit(); });
const events = new EventSource('/v1/events'); // it cannot send a token: the timer does without it
for (const type of ['topology', 'lease', 'occupancy']) events.addEventListener(type, refresh);
events.onerror = () => { if (events.readyState === EventSource.CLOSED) setInterval(refresh, 15000); };
