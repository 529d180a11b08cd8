// The frame of every page: reads the data and puts sections together.

const data = JSON.parse(document.getElementById("data").textContent);

function section(id, title, ...content) {
  return element("section", { id, "aria-labelledby": id + "-title" }, element("h2", { id: id + "-title" }, title), content);
}

function fact(label, value, note) {
  return element("div", { class: "fact" }, element("dt", {}, label), element("dd", {}, value),
    note ? element("dd", { class: "note" }, note) : null);
}

// Shows the page. `header` and `sections` are nodes; null is skipped.
function showPage(title, header, sections) {
  const shown = sections.filter(Boolean);
  document.title = `${title} – shardwright`;
  document.getElementById("top").replaceChildren(...header.filter(Boolean));
  document.getElementById("sections").replaceChildren(...shown);
  // A click must not replace the address, which has the reader's choices.
  const goTo = (node) => (event) => {
    event.preventDefault();
    node.scrollIntoView();
  };
  document.getElementById("contents").replaceChildren(...shown.map((node) =>
    element("a", { href: "#" + node.id, onclick: goTo(node) }, node.querySelector("h2").textContent)));
  document.getElementById("colophon").textContent = `shardwright ${data.version}. This page holds all it shows and loads nothing.`;
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
  window.addEventListener("scroll", hideTip, { passive: true });
  readState();
  window.addEventListener("hashchange", readState);
  document.documentElement.dataset.rendered = String(shown.length);
}
