// Fragments [start, end) and edits of them. Pure functions; offsets count Unicode characters.
export const same = (one, other) => one.label === other.label && JSON.stringify(one.fragments) === JSON.stringify(other.fragments);

// Without the white space at both ends; null if nothing is left.
export function trimmed(characters, [start, end]) {
  while (start < end && /\s/u.test(characters[start])) start += 1;
  while (start < end && /\s/u.test(characters[end - 1])) end -= 1;
  return start < end ? [start, end] : null;
}

// Sorted, with those that overlap or touch merged.
export function merged(fragments) {
  const joined = [];
  for (const [start, end] of fragments.toSorted((one, other) => one[0] - other[0])) {
    const last = joined.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

// Entities shifted after the text was edited in one place; those whose own text was edited are dropped.
export function moved(entities, before, after) {
  const most = Math.min(before.length, after.length);
  let head = 0, tail = 0;
  while (head < most && before[head] === after[head]) head += 1;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const by = after.length - before.length, rest = before.length - tail;
  const fragment = ([start, end]) => end <= head ? [start, end] : start >= rest ? [start + by, end + by] : null;
  return entities.map(one => ({ ...one, fragments: one.fragments.map(fragment) })).filter(one => !one.fragments.includes(null));
}

// The offset in a text of an offset in a text area, where every line end is one unit. Both count UTF-16 units.
export function behindLineEnds(text, place) {
  let raw = 0;
  for (let seen = 0; seen < place; seen += 1) raw += text.startsWith("\r\n", raw) ? 2 : 1;
  return raw;
}
