// A panel beside the page with details of one item. Escape and a button close it. The page's address keeps the item's name as
// "open". `onShow` is called with this name, or "" if the panel is closed.

class Panel {
  // `find(name)` returns {title, nodes()} of the item with this name, or null.
  constructor(find) {
    Object.assign(this, { find, name: "", opener: null, onShow: () => {} });
    this.heading = element("h2", { id: "panel-title", tabindex: "-1" });
    this.body = element("div", { class: "panel-body" });
    this.node = element("aside", { id: "panel", "aria-labelledby": "panel-title", hidden: true },
      element("header", {}, this.heading, element("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => this.close() }, "×")), this.body);
    document.body.append(this.node);
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    onState("open", (name) => (name ? this.open(name) : this.close()));
  }

  open(name) {
    const found = this.find(name);
    if (!found) return;
    if (this.node.hidden) this.opener = document.activeElement;
    this.name = name;
    this.heading.replaceChildren(breakable(found.title));
    this.body.replaceChildren(...found.nodes().flat(Infinity).filter(Boolean));
    this.node.hidden = false;
    this.node.scrollTop = 0;
    document.documentElement.classList.add("with-panel");
    this.heading.focus({ preventScroll: true });
    writeState("open", name);
    this.onShow(name);
  }

  toggle(name) {
    this.name === name ? this.close() : this.open(name);
  }

  close() {
    if (this.node.hidden) return;
    this.node.hidden = true;
    this.name = "";
    document.documentElement.classList.remove("with-panel");
    writeState("open", "");
    this.onShow("");
    this.opener?.focus({ preventScroll: true });
  }
}
