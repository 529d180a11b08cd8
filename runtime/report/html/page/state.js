// Keeps the reader's choices in the page's address, so that the address can be shared: "#find=rank%3A3&open=cat_0".

const stateShown = new Map();  // by key: value on the page
const stateReaders = new Map();  // by key: function that shows a value

function stateParts() {
  const hash = location.hash.slice(1);
  return new URLSearchParams(hash.includes("=") ? hash : "");
}

// Keeps a value in the address; an empty value is removed.
function writeState(key, value) {
  stateShown.set(key, value);
  const parts = stateParts();
  value ? parts.set(key, value) : parts.delete(key);
  const hash = String(parts) && "#" + parts;
  if (hash !== location.hash) history.replaceState(null, "", hash || "#");
}

// Registers `show`, which is called with the address's value after the page is drawn and when the address changes.
function onState(key, show) {
  stateReaders.set(key, show);
}

function readState() {
  if (location.hash.length > 1 && !location.hash.includes("=")) return;  // a link to a section
  const parts = stateParts();
  for (const [key, show] of stateReaders) {
    const value = parts.get(key) ?? "";
    if (value === (stateShown.get(key) ?? "")) continue;
    stateShown.set(key, value);
    show(value);
  }
}
