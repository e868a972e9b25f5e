// Makes elements. Text goes in as text, never as markup, so nothing that a store holds becomes HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), props, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], props, children);
}

function filled<E extends Element>(node: E, props: Props | null | undefined, children: Child[]): E {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  append(node, children);
  return node;
}

function set(node: Element, name: string, value: unknown): void {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value as EventListener);
  else if (name === "style") styled(node as HTMLElement, value as Record<string, string>);
  else node.setAttribute(name, value === true ? "" : String(value));
}

// Through the object model: the page's policy forbids style attributes.
function styled(node: HTMLElement, rules: Record<string, string>): void {
  for (const [name, value] of Object.entries(rules)) node.style.setProperty(name, value);
}

export function append(node: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : String(child));
  }
}

export function fill(node: Element, ...children: Child[]): void {
  node.replaceChildren();
  append(node, children);
}
