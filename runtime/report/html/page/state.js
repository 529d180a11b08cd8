// What a reader chose, kept in the page's address so that it can be passed on: "#find=rank%3A3&open=cat_0".

const stateShown = new Map();    // by key: the value that the page shows
const stateReaders = new Map();  // by key: what shows a value

function stateParts() {
  const hash = location.hash.slice(1);
  return new URLSearchParams(hash.includes("=") ? hash : "");
}

// Keeps a value in the address; an empty one is left out.
function writeState(key, value) {
  stateShown.set(key, value);
  const parts = stateParts();
  value ? parts.set(key, value) : parts.delete(key);
  const hash = String(parts) && "#" + parts;
  if (hash !== location.hash) history.replaceState(null, "", hash || "#");
}

// Calls `show` with the value of the address, once the page is drawn and when somebody changes the address.
function onState(key, show) {
  stateReaders.set(key, show);
}

function readState() {
  if (location.hash.length > 1 && !location.hash.includes("=")) return;  // a section
  const parts = stateParts();
  for (const [key, show] of stateReaders) {
    const value = parts.get(key) ?? "";
    if (value === (stateShown.get(key) ?? "")) continue;
    stateShown.set(key, value);
    show(value);
  }
}
