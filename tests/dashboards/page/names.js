// What somebody who does not see the page would miss: names of controls, texts of pictures, heads of tables.
() => {
  const faults = [];
  const told = (node) => node.outerHTML.slice(0, 80);
  const named = (node) => {
    const other = document.getElementById(node.getAttribute("aria-labelledby") || "-");
    const labels = [...(node.labels || [])].map((label) => label.textContent).join("");
    return [node.getAttribute("aria-label"), node.textContent, node.title, labels, other?.textContent].some((text) => text?.trim());
  };
  const operated = 'a[href], button, input, select, [tabindex="0"], dialog, table.bars';
  for (const node of document.querySelectorAll(operated)) if (!named(node)) faults.push(`no name: ${told(node)}`);
  for (const node of document.querySelectorAll("[role=img], progress")) if (!node.getAttribute("aria-label")) faults.push(`no text: ${told(node)}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  for (const head of document.querySelectorAll("th")) if (!head.scope) faults.push(`no scope: ${head.textContent}`);
  if (!document.documentElement.lang) faults.push("no language");
  if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
  return faults;
};
