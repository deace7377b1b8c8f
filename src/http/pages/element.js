/** A new element. Content is text or elements, never markup. */
export function element(name, content, attributes) {
  const made = document.createElement(name);
  made.append(...[content ?? []].flat());
  for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
  return made;
}
