// Renders /openapi.json for people.
'use strict';

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function row(table, ...cells) {
  const r = table.insertRow();
  for (const c of cells) {
    const td = r.insertCell();
    td.append(c ?? '');
  }
}

const nameOf = ref => ref.split('/').pop();

function link(ref) {
  const a = element('a', nameOf(ref));
  a.href = '#' + nameOf(ref);
  return a;
}

function typeOf(schema) {
  if (!schema) return '';
  if (schema.$ref) return link(schema.$ref);
  if (schema.items) {
    const span = element('span', 'list of ');
    span.append(typeOf(schema.items));
    return span;
  }
  if (schema.enum) return schema.enum.filter(Boolean).join(' | ');
  if (schema.const) return schema.const;
  return [schema.type].flat().join(' or ') + (schema.format ? ` (${schema.format})` : '');
}

function operation(api, path, method, op) {
  const box = element('details', undefined, 'op'), head = element('summary');
  head.append(element('code', method.toUpperCase()), element('code', path), ' ', op.summary, element('span', ` (${op['x-role']})`, 'dim'));
  box.append(head);
  if (op.description) box.append(element('p', op.description));
  const t = element('table');
  for (const given of op.parameters || []) {
    const p = given.$ref ? api.components.parameters[nameOf(given.$ref)] : given;
    row(t, element('code', p.name), p.in, typeOf(p.schema), p.description);
  }
  const body = op.requestBody && Object.values(op.requestBody.content)[0].schema;
  if (body) row(t, 'body', '', typeOf(body), '');
  for (const [status, given] of Object.entries(op.responses)) {
    const r = given.$ref ? api.components.responses[nameOf(given.$ref)] : given;
    row(t, status, '', r.content ? typeOf(Object.values(r.content)[0].schema) : '', r.description);
  }
  box.append(t);
  return box;
}

function schema(name, s) {
  const box = element('details', undefined, 'op'), head = element('summary', name);
  box.id = name;
  box.append(head);
  const t = element('table');
  for (const [field, f] of Object.entries(s.properties || {}))
    row(t, element('code', field), (s.required || []).includes(field) ? 'required' : '', typeOf(f), f.description || '');
  box.append(t);
  return box;
}

async function main() {
  const api = await (await fetch('/openapi.json')).json();
  document.getElementById('about').textContent = api.info.description;
  for (const [path, item] of Object.entries(api.paths))
    for (const [method, op] of Object.entries(item)) document.getElementById('paths').append(operation(api, path, method, op));
  for (const [name, s] of Object.entries(api.components.schemas)) document.getElementById('schemas').append(schema(name, s));
  const open = () => { const target = document.getElementById(location.hash.slice(1)); if (target) target.open = true; };
  addEventListener('hashchange', open);
  open();
}

main();
