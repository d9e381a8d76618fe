/* Narrows the tables of the reference pages down. No library, no request; without it every row is there.

   State stands in the address, as #?failures.q=kfd&failures.severity=blocks, so that a view can be linked to. A plain
   #code still goes to its row, and shows it where a filter hid it. */
(function () {
  "use strict";

  function tokens(text) {
    return (text || "").split(/\s+/).filter(Boolean);
  }

  function Table(section) {
    this.name = section.dataset.lkName;
    this.form = section.querySelector(".lk-controls");
    this.count = section.querySelector(".lk-count");
    this.fields = Array.from(this.form.querySelectorAll("[data-lk-field]"));
    this.rows = Array.from(section.querySelectorAll("tbody > tr")).map(function (row) {
      return { row: row, text: row.textContent.toLowerCase() };
    });
    this.form.hidden = false;
    this.count.hidden = false;
  }

  Table.prototype.values = function () {
    var found = {};
    this.fields.forEach(function (field) {
      if (field.value.trim()) found[field.dataset.lkField] = field.value.trim();
    });
    return found;
  };

  Table.prototype.set = function (values) {
    this.fields.forEach(function (field) {
      var value = values[field.dataset.lkField] || "";
      field.value = value;
      if (field.value !== value) field.value = ""; // an option that there is not
    });
  };

  Table.prototype.apply = function () {
    var values = this.values();
    var words = tokens((values.q || "").toLowerCase());
    var shown = 0;
    this.rows.forEach(function (entry) {
      var stays =
        words.every(function (word) { return entry.text.includes(word); }) &&
        Object.keys(values).every(function (name) {
          return name === "q" || tokens(entry.row.getAttribute("data-lk-" + name)).includes(values[name]);
        });
      entry.row.hidden = !stays;
      shown += stays ? 1 : 0;
    });
    var told = shown + " of " + this.rows.length + " shown";
    if (this.count.textContent !== told) this.count.textContent = told; // said once, not at every key
  };

  var tables = [];

  function read() {
    var found = {};
    if (location.hash.startsWith("#?")) {
      new URLSearchParams(location.hash.slice(2)).forEach(function (value, key) {
        var at = key.indexOf(".");
        var name = key.slice(0, at);
        (found[name] = found[name] || {})[key.slice(at + 1)] = value;
      });
    }
    return found;
  }

  function write() {
    var parameters = new URLSearchParams();
    tables.forEach(function (table) {
      var values = table.values();
      Object.keys(values).forEach(function (key) { parameters.set(table.name + "." + key, values[key]); });
    });
    var text = parameters.toString();
    var address = text ? "#?" + text : location.pathname + location.search;
    try {
      history.replaceState(null, "", address);
    } catch (refused) { // some browsers, for a page that is opened as a file
      location.replace("#" + (text ? "?" + text : ""));
    }
  }

  function follow() {
    if (location.hash && !location.hash.startsWith("#?")) {
      var id = location.hash.slice(1);
      try {
        id = decodeURIComponent(id);
      } catch (malformed) { // taken as it stands
      }
      var target = document.getElementById(id);
      var row = target && target.closest(".lk-table tr");
      if (!row || !row.hidden) return;
      tables.forEach(function (table) { table.set({}); table.apply(); });
      row.scrollIntoView();
      return;
    }
    var found = read();
    tables.forEach(function (table) {
      table.set(found[table.name] || {});
      table.apply();
    });
  }

  function begin() {
    document.querySelectorAll(".lk-table").forEach(function (section) {
      if (!section.querySelector(".lk-controls")) return;
      var table = new Table(section);
      var pending = 0;
      function changed() {
        table.apply();
        clearTimeout(pending);
        pending = setTimeout(write, 150); // browsers refuse an address that changes at every key
      }
      table.form.addEventListener("input", changed);
      table.form.addEventListener("change", changed);
      table.form.addEventListener("submit", function (event) { event.preventDefault(); });
      table.form.addEventListener("reset", function (event) {
        event.preventDefault();
        table.set({});
        changed();
      });
      tables.push(table);
    });
    if (!tables.length) return;
    follow();
    window.addEventListener("hashchange", follow);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
