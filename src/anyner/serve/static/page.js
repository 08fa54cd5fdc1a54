// The page: texts go in; entities are drawn, corrected and downloaded. The server predicts, checks and lays out; the page holds the state.
import { characters, drawn, made, mark, selectedIn, swatch } from "./drawing.js";
import { behindLineEnds, merged, moved, same, trimmed } from "./edits.js";
import { ask } from "./server.js";

const at = id => document.getElementById(id), box = at("text"), drawing = at("drawing");
const annotating = "annotate" in document.body.dataset, WAIT = 250, KEYS = 9;
let models = [];
let state = { text: "", shown: "", entities: [], corrected: false }; // `shown`: the text as the text area has it
let answer = { lines: [], entities: [], colours: {} };
let history = [];
let steps = []; // what was found after each denoising step
const hidden = new Set(), added = new Set();
let chosen = { fragments: [], entity: null }; // what a label is assigned to: selected text, or an entity
let base = [], extending = false; // fragments that the selection is added to, and whether to add the next one
let pending = new AbortController(), timer;
let texts = [], current = null; // of a folder that is annotated

const model = () => models.find(one => one.name === at("model").value) ?? models[0];
const say = text => { at("message").textContent = text; };
const fail = text => { at("error").textContent = text; at("error").hidden = !text; };
const plain = ({ label, fragments, score }) => ({ label, fragments, score });
const labels = () => [...new Set([...(model()?.labels ?? []), ...added, ...state.entities.map(one => one.label)])];
const ready = () => box.value === state.shown;

// Runs some work; shows an error and returns `false` if it fails.
async function attempt(work) {
  try {
    await work();
    fail("");
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    fail(error.message);
    return false;
  }
}

// ---- predict and draw

async function show(text, entities, corrected, signal, opened = () => {}) {
  const known = [...new Set([...(model()?.labels ?? []), ...added])];
  const laid = await ask("drawing", { text, entities: entities.map(plain), labels: known }, { signal });
  if (signal?.aborted) return;
  opened();
  answer = laid;
  state = { text, shown: box.value, entities: laid.entities, corrected };
  render();
}

function begin() {
  clearTimeout(timer);
  pending.abort();
  drawing.removeAttribute("aria-busy");
  pending = new AbortController();
  return pending.signal;
}

// Sliders have steps: a threshold that was not moved is left to the model.
function settings() {
  const sliders = [...at("thresholds").querySelectorAll("[data-moved]")];
  const thresholds = Object.fromEntries(sliders.map(one => [one.name, Number(one.value)]));
  return { model: model().name, thresholds, overlap: at("overlap").value };
}

async function found(text, signal) {
  if (!text.trim()) return [{ entities: [] }];
  const watch = model().steps && at("watch").checked;
  const { documents } = watch ? await ask("steps", { text, ...settings() }, { signal })
    : await ask("predict", { texts: text, ...settings() }, { signal });
  return documents;
}

// What the user should know about how well the text was read.
function unread({ unknown = 0, coverage = 1 }) {
  if (coverage < 1) return `Only ${(100 * coverage).toFixed(1)} % of the words were read in full: some are too long.`;
  return unknown > 0.5 ? "Most words are not in the model's vocabulary: use a model for their language." : "";
}

// Predicts again. Undo restores the corrections that it replaces.
async function predict() {
  const signal = begin(), text = annotating ? state.text : box.value;
  drawing.setAttribute("aria-busy", "true");
  await attempt(async () => {
    const documents = await found(text, signal);
    if (signal.aborted) return;
    const replaced = state.corrected && state.text === text;
    if (replaced) history.push(state);
    steps = documents;
    choose([], null);
    const last = documents.length, step = last > 1 && at("step-field").dataset.used ? Math.min(at("step").value, last) : last;
    await show(text, documents[step - 1].entities, false, signal);
    say(replaced ? "Predicted again. Undo restores your corrections." : unread(documents.at(-1)));
  });
  if (!signal.aborted) drawing.removeAttribute("aria-busy");
}

async function typed() {
  if (!state.corrected) { await predict(); return; }
  const text = box.value, signal = begin();
  await attempt(async () => {
    const kept = moved(state.entities, Array.from(state.text), Array.from(text)), lost = state.entities.length - kept.length;
    if (lost) history.push(state);
    choose([], null);
    await show(text, kept, true, signal);
    say(lost ? `${lost} removed, because their text changed.` : "Corrected entities are kept as you type. Change the model or a threshold to predict again.");
  });
}

function soon(work) {
  begin();
  timer = setTimeout(work, WAIT);
}

// ---- correct

let queue = Promise.resolve(); // edits one after the other, however fast they come
function edit(change, message) {
  queue = queue.then(() => attempt(async () => {
    if (!ready()) throw new Error("The text is still being read: try again.");
    const before = state, next = change(before.entities);
    if (!next) return;
    begin();
    await show(before.text, next, true);
    history.push(before);
    const changed = state.entities.findIndex(one => !before.entities.some(other => same(one, other)));
    choose(changed < 0 ? [] : state.entities[changed].fragments, changed < 0 ? null : changed);
    render();
    say(message);
  }));
  return queue;
}

function give(label) {
  label = label.trim();
  const { fragments, entity } = chosen;
  if (!label) return fail("A label needs a name.");
  if (!fragments.length) return fail("Nothing is selected: select some text or an entity first.");
  if (!model()?.labels.includes(label)) added.add(label);
  if (entity !== null) return edit(all => all.map((one, number) => number === entity ? { label, fragments: one.fragments } : one), `Relabelled as ${label}.`);
  return edit(all => [...all, { label, fragments }], `Added ${label}.`);
}

function remove(number) {
  if (number === null) return;
  const gone = state.entities[number];
  edit(all => all.filter(one => !same(one, gone)), `Removed ${gone.label} ${gone.text}.`);
}

function undo() {
  const before = history.pop();
  if (!before) return;
  const signal = begin();
  attempt(async () => {
    if (!annotating && box.value !== before.shown) box.value = before.shown;
    choose([], null);
    await show(before.text, before.entities, before.corrected || annotating, signal); // what was saved before must be saved again
    say("Undone.");
  });
}

// ---- choose text and entities

function choose(fragments, entity) {
  chosen = { fragments, entity };
  if (entity !== null || !fragments.length) base = [];
  const all = Array.from(state.text), text = fragments.map(([start, end]) => all.slice(start, end).join("")).join(" … ");
  const label = entity === null ? "" : `${state.entities[entity]?.label}: `;
  at("chosen").textContent = fragments.length ? `Selected: ${label}${text}` : "Select text to add an entity, or choose an entity to change it.";
  at("remove").disabled = entity === null;
  for (const button of at("list").querySelectorAll(".entity")) button.ariaPressed = String(Number(button.dataset.e) === entity);
  mark(drawing, fragments);
}

function selection() {
  if (document.activeElement === box) {
    if (!ready() || box.selectionStart === box.selectionEnd) return null;
    const place = one => characters(state.text.slice(0, behindLineEnds(state.text, one)));
    return [place(box.selectionStart), place(box.selectionEnd)];
  }
  return selectedIn(drawing);
}

function selected() {
  const range = selection(), fragment = range && trimmed(Array.from(state.text), range);
  if (!fragment) {
    if (!extending && !range) base = [];
    return;
  }
  const entity = extending ? chosen.entity : null;
  if (extending) base = chosen.fragments;
  extending = false;
  at("fragment").ariaPressed = "false";
  const fragments = merged([...base, fragment].map(one => [...one]));
  const kept = base;
  choose(fragments, entity ?? (kept.length ? chosen.entity : null));
  base = kept;
}

// Adds a new fragment to its entity once the selection has ended.
function selectionOver() {
  const { fragments, entity } = chosen, own = state.entities[entity]; // none, or gone with an older text
  if (!own || JSON.stringify(own.fragments) === JSON.stringify(fragments)) return;
  base = [];
  edit(all => all.map((one, number) => number === entity ? { label: one.label, fragments } : one), "Fragment added.");
}

function extend() {
  if (!chosen.fragments.length) return fail("Nothing is selected: select the first part first.");
  extending = true;
  at("fragment").ariaPressed = "true";
  say("Select the next part.");
}

// ---- render

function render() {
  drawing.replaceChildren(...drawn(answer, one => !hidden.has(one.label)));
  const focused = document.activeElement?.closest("#list") ? document.activeElement.dataset.e : null;
  at("list").replaceChildren(...state.entities.flatMap((one, number) => hidden.has(one.label) ? [] : [item(one, number)]));
  if (focused !== null) (at("list").querySelector(`[data-e="${Math.min(focused, state.entities.length - 1)}"]`) ?? at("undo")).focus();
  const left = state.entities.filter(one => hidden.has(one.label)).length;
  at("count").textContent = `${state.entities.length} found${left ? `, ${left} not shown` : ""}`;
  at("undo").disabled = !history.length;
  renderLabels();
  renderSteps();
  mark(drawing, chosen.fragments);
}

function item(one, number) {
  const whole = made("li"), pick = made("button", undefined, "entity"), drop = made("button", "×", "drop");
  pick.type = drop.type = "button";
  pick.dataset.e = drop.dataset.e = number;
  pick.ariaPressed = String(number === chosen.entity);
  pick.append(swatch(answer.colours[one.label]), made("bdi", one.label), made("bdi", one.text));
  if (one.score !== null && one.score !== undefined) pick.append(made("small", one.score.toFixed(2)));
  drop.ariaLabel = `Remove ${one.label} ${one.text}`;
  pick.addEventListener("click", () => choose(one.fragments, number));
  drop.addEventListener("click", () => remove(number));
  whole.append(pick, drop);
  return whole;
}

function renderLabels() {
  const counts = Map.groupBy(state.entities, one => one.label), focused = document.activeElement?.dataset.label;
  at("give").replaceChildren(...labels().map((label, number) => {
    const button = made("button");
    button.type = "button";
    button.append(swatch(answer.colours[label]), made("bdi", label));
    if (number < KEYS) button.append(made("kbd", number + 1));
    button.addEventListener("click", () => give(label));
    return button;
  }));
  at("shown").replaceChildren(...labels().map(label => {
    const whole = made("label"), check = made("input");
    check.type = "checkbox";
    check.checked = !hidden.has(label);
    check.dataset.label = label;
    check.addEventListener("change", () => {
      if (check.checked) hidden.delete(label); else hidden.add(label);
      render();
    });
    whole.append(check, swatch(answer.colours[label]), made("bdi", label), made("small", counts.get(label)?.length ?? 0));
    return whole;
  }));
  if (focused !== undefined) [...at("shown").querySelectorAll("input")].find(one => one.dataset.label === focused)?.focus();
}

function renderSteps() {
  const several = steps.length > 1 && !state.corrected;
  at("step-field").hidden = !several;
  if (!several) return;
  at("step").max = steps.length;
  if (!at("step-field").dataset.used) at("step").value = steps.length;
  at("step-shown").textContent = `${at("step").value} of ${steps.length}`;
}

function renderModel() {
  const one = model();
  at("thresholds").replaceChildren(...Object.entries(one.thresholds).map(([name, { value, lowest }]) => {
    const field = made("label", `Threshold ${name} `, "field"), shown = made("output", value.toFixed(2)), slider = made("input");
    Object.assign(slider, { type: "range", min: lowest, max: 1, step: 0.01, name });
    slider.value = value;
    slider.addEventListener("input", () => {
      slider.dataset.moved = "yes";
      shown.textContent = Number(slider.value).toFixed(2);
      soon(predict);
    });
    field.append(shown, slider);
    return field;
  }));
  at("overlap").replaceChildren(...one.policies.map(policy => made("option", policy)));
  at("overlap").value = one.overlap;
  at("denoising").hidden = !one.steps;
}

// ---- files

async function open(file) {
  if (!file || annotating) return;
  await attempt(async () => {
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      throw new Error(`${file.name}: not a UTF-8 text file`);
    }
    box.value = text;
    if (state.corrected) history.push(state);
    state = { ...state, corrected: false };
    await predict();
  });
}

async function download(format) {
  const name = (texts.find(one => one.id === current)?.name ?? "anyner").replace(/[^\w.-]+/gu, "_");
  await attempt(async () => {
    if (!ready()) throw new Error("The text is still being read: try again.");
    const { content } = await ask("export", { text: state.text, entities: state.entities.map(({ label, fragments }) => ({ label, fragments })), format });
    const link = made("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
    link.download = `${name}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    say(`${link.download}: ${state.entities.length} entities, including labels not shown.`);
  });
}

// ---- a folder of texts

const nextUndone = () => {
  const place = texts.findIndex(one => one.id === current), rest = [...texts.slice(place + 1), ...texts.slice(0, place)];
  return rest.find(one => !one.done)?.id;
};

function renderTexts() {
  const done = texts.filter(one => one.done).length;
  at("progress").textContent = `${done} of ${texts.length} done`;
  at("texts").replaceChildren(...texts.map(one => {
    const line = made("li"), button = made("button", `${one.done ? "✓" : "○"} ${one.name}`);
    button.type = "button";
    button.ariaLabel = `${one.name}, ${one.done ? "done" : "not done"}`;
    if (one.id === current) button.ariaCurrent = "true";
    button.append(made("small", one.sure.toFixed(2)));
    button.title = "Smallest distance of a candidate's score from its threshold";
    button.addEventListener("click", () => go(one.id));
    line.append(button);
    return line;
  }));
  const list = at("texts"), here = list.querySelector("[aria-current]");
  if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2; // the page itself must not scroll
}

async function store() {
  await queue;
  if (current === null || !ready()) throw new Error("The text is still being read: try again.");
  const id = current, sent = state;
  const stored = await ask(`annotate/texts/${id}`, { entities: sent.entities.map(({ label, fragments }) => ({ label, fragments })) }, { method: "PUT" });
  await queue; // edits made meanwhile are not stored
  if (state === sent) state = { ...state, corrected: false };
  texts = texts.map(one => one.id === id ? { ...one, done: stored.done } : one);
  say(`${stored.name} saved.`);
}

async function go(id) {
  await attempt(async () => {
    await queue;
    while (state.corrected && current !== null) await store();
    const signal = begin();
    drawing.setAttribute("aria-busy", "true");
    const { text, entities } = await ask(`annotate/texts/${id}`, undefined, { signal });
    if (signal.aborted) return;
    // Until its drawing has arrived, the previous text stays and can still be changed and stored.
    await show(text, entities, false, signal, () => {
      current = id;
      history = [];
      steps = [];
      box.value = text;
      choose([], null);
    });
  });
  drawing.removeAttribute("aria-busy");
  renderTexts();
}

async function save() {
  const saved = await attempt(store), next = nextUndone();
  renderTexts();
  if (!saved) return;
  if (next === undefined) say("Saved. All texts are done.");
  else await go(next);
}

const beside = by => texts[(texts.findIndex(one => one.id === current) + by + texts.length) % texts.length].id;

async function startAnnotating() {
  at("annotate").hidden = at("pass").hidden = false;
  at("open").hidden = true;
  box.readOnly = true;
  say("The model is reading the texts, to show those first that it is least sure of.");
  texts = await ask("annotate/texts");
  say("");
  renderTexts();
  if (texts.length) await go(texts.find(one => !one.done)?.id ?? texts[0].id);
  else say("The folder has no texts.");
}

// ---- wiring

async function start() {
  await attempt(async () => {
    models = (await ask("models")).models;
    if (!models.length) {
      say("The models are being loaded.");
      setTimeout(start, 4 * WAIT);
      return;
    }
    at("model").replaceChildren(...models.map(one => made("option", one.name)));
    renderModel();
    if (annotating) await startAnnotating();
    else await predict();
  });
}

function giveByKey(event, withAlt) {
  const number = /^(?:Digit|Numpad)([1-9])$/u.exec(event.code)?.[1];
  if (!number || event.altKey !== withAlt || event.ctrlKey || event.metaKey) return;
  const label = labels()[number - 1];
  if (label === undefined) return;
  event.preventDefault();
  const own = event.target.dataset.e;
  if (state.entities[own]) choose(state.entities[own].fragments, Number(own));
  give(label);
}

box.addEventListener("input", () => soon(typed));
box.addEventListener("keydown", event => giveByKey(event, true));
box.addEventListener("keyup", event => { if (event.key === "Shift") selectionOver(); });
at("editor").addEventListener("keydown", event => {
  if (event.target === at("new-label")) return;
  giveByKey(event, false);
  if (event.key === "Delete" || event.key === "Backspace") remove(event.target.dataset.e ? Number(event.target.dataset.e) : chosen.entity);
  if (event.key === "Escape") { extending = false; at("fragment").ariaPressed = "false"; choose([], null); }
  if (event.key === "z" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); undo(); }
});
drawing.addEventListener("click", event => {
  const over = event.target.closest("[data-e]");
  if (!over || selectedIn(drawing) || extending) return;
  const here = over.dataset.e.split(" ").map(Number), next = here[(here.indexOf(chosen.entity) + 1) % here.length];
  if (state.entities[next]) choose(state.entities[next].fragments, next); // else drawn from an older text
});
for (const place of [box, drawing]) {
  place.addEventListener("pointerdown", event => {
    if ((event.ctrlKey || event.metaKey) && chosen.fragments.length) extending = true;
  });
}
document.addEventListener("pointerup", () => setTimeout(selectionOver));
document.addEventListener("selectionchange", selected);
// Buttons take the focus, but not the selection.
at("tools").addEventListener("mousedown", event => { if (event.target.closest("button")) event.preventDefault(); });
at("fragment").addEventListener("click", extend);
at("remove").addEventListener("click", () => remove(chosen.entity));
at("undo").addEventListener("click", undo);
at("other").addEventListener("submit", event => { event.preventDefault(); give(at("new-label").value); });
at("model").addEventListener("change", () => { renderModel(); predict(); });
at("overlap").addEventListener("change", predict);
at("watch").addEventListener("change", predict);
at("step").addEventListener("input", () => {
  at("step-field").dataset.used = "yes";
  const signal = begin();
  attempt(() => show(state.text, steps[at("step").value - 1].entities, false, signal));
});
at("file").addEventListener("change", () => { open(at("file").files[0]); at("file").value = ""; });
document.addEventListener("dragover", event => event.preventDefault());
document.addEventListener("drop", event => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  open(event.dataTransfer.files[0]);
});
for (const button of document.querySelectorAll("[data-format]")) button.addEventListener("click", () => download(button.dataset.format));
at("previous").addEventListener("click", () => go(beside(-1)));
at("next").addEventListener("click", () => go(beside(1)));
at("save").addEventListener("click", save);
window.addEventListener("beforeunload", event => { if (annotating && state.corrected) event.preventDefault(); });
start();
