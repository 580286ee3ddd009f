/* The page works without this; with it sections open by their address, tables sort, filter and fold, and flame graphs zoom. */
(function () {
"use strict";
var root = document.documentElement, doc = document;
root.classList.add("js");
function all(selector, within) { return Array.prototype.slice.call((within || doc).querySelectorAll(selector)); }
function make(name, className, text) { var e = doc.createElement(name); if (className) e.className = className; if (text) e.textContent = text; return e; }
function button(text, act) { var b = make("button", "", text); b.type = "button"; b.addEventListener("click", act); return b; }
function on(list, event, act) { list.forEach(function (e) { e.addEventListener(event, function (x) { act(e, x); }); }); }
function press(b, yes) { b.setAttribute("aria-pressed", yes ? "true" : "false"); }
function keep(key, value) { try { localStorage.setItem("assay." + key, value); } catch (e) { /* a page from a file may not keep anything */ } }
function kept(key) { try { return localStorage.getItem("assay." + key); } catch (e) { return null; } }

/* Sections: by address, and all at once. */
function reveal() {
  var id = decodeURIComponent(location.hash.slice(1)), target = id && doc.getElementById(id);
  for (var e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
on(all("a[href^='#']"), "click", function (a) { if (a.getAttribute("href") === location.hash) reveal(); });
on(all("[data-all]"), "click", function (b) {
  all(".sec", b.closest("article")).forEach(function (d) { d.open = b.getAttribute("data-all") === "open"; });
});
var shut = [];
addEventListener("beforeprint", function () { shut = all("details:not([open])"); shut.forEach(function (d) { d.open = true; }); });
addEventListener("afterprint", function () { shut.forEach(function (d) { d.open = false; }); shut = []; });

/* Light or dark: the reader's setting until he chooses. */
function is_dark() { var t = root.getAttribute("data-theme"); return t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; }
all("[data-do=theme]").forEach(function (b) {
  function show() { b.textContent = is_dark() ? "Light" : "Dark"; b.setAttribute("aria-label", is_dark() ? "use light colours" : "use dark colours"); }
  if (kept("theme") === "light" || kept("theme") === "dark") root.setAttribute("data-theme", kept("theme"));
  b.addEventListener("click", function () { root.setAttribute("data-theme", is_dark() ? "light" : "dark"); keep("theme", root.getAttribute("data-theme")); show(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
});
all("[data-do=origin]").forEach(function (b) {
  press(b, false);
  b.addEventListener("click", function () { press(b, root.classList.toggle("origin")); });
});

/* Commands to take along. */
function copied(b, yes) { b.textContent = yes ? "Copied" : "Press Ctrl-C"; setTimeout(function () { b.textContent = "Copy"; }, 1600); }
function select_copy(code) {
  var range = doc.createRange(), s = getSelection();
  range.selectNodeContents(code); s.removeAllRanges(); s.addRange(range);
  return doc.execCommand("copy");
}
on(all(".copy"), "click", function (b) {
  var code = b.parentNode.querySelector("code");
  if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(function () { copied(b, true); }, function () { copied(b, select_copy(code)); });
  else copied(b, select_copy(code));
});

/* Tables.  A number's cell carries its value; what all cells of a column share stands in its heading. */
function value_of(row, column) {
  var c = row.cells[column], v = c.getAttribute("data-v");
  return v === null ? c.textContent : v === "" ? null : +v;
}
function sort(table, column, down) {
  var body = table.tBodies[0], heads = all("th", table);
  all("tr", body).map(function (r, k) { return { row: r, value: value_of(r, column), at: k }; }).sort(function (a, b) {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.at - b.at;
    var d = typeof a.value === "number" && typeof b.value === "number" ? a.value - b.value : String(a.value).localeCompare(String(b.value), "en", { numeric: true });
    return (down ? -d : d) || a.at - b.at;
  }).forEach(function (e) { body.appendChild(e.row); });
  heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
}
function sortable(table) {
  all("th", table).forEach(function (th, column) {
    var b = make("button"), number = th.classList.contains("n");
    while (th.firstChild) b.appendChild(th.firstChild);
    b.type = "button";
    th.appendChild(b);
    b.addEventListener("click", function () {
      var now = th.getAttribute("aria-sort");
      sort(table, column, now ? now === "ascending" : number);
    });
  });
}
function searchable(box, table, bar) {
  var q = make("input", "search"), told = make("output"), rows = all("tbody tr", table);
  q.type = "search"; q.placeholder = "Search " + rows.length + " rows"; q.setAttribute("aria-label", "search this table");
  q.addEventListener("input", function () {
    var words = q.value.toLowerCase().split(/\s+/), n = 0;
    rows.forEach(function (r) {
      var text = r.textContent.toLowerCase(), miss = words.some(function (w) { return text.indexOf(w) < 0; });
      r.classList.toggle("no", miss); n += !miss;
    });
    box.classList.toggle("hunt", q.value.trim() !== "");
    told.textContent = q.value.trim() ? n + " of " + rows.length : "";
  });
  bar.appendChild(q); bar.appendChild(told);
}
function toggle(box, name, shut_text, open_text) {
  var b = button(shut_text, function () { var yes = box.classList.toggle(name); press(b, yes); b.textContent = yes ? open_text : shut_text; });
  press(b, false);
  return b;
}
all(".tb").forEach(function (box) {
  var table = box.querySelector("table"), n = table.tBodies[0].rows.length, hidden = all("th.x", table).length, bar = make("div", "ctl");
  if (n > 1) sortable(table);
  if (n > 12) searchable(box, table, bar);
  if (hidden) bar.appendChild(toggle(box, "cols", "Show all " + table.tHead.rows[0].cells.length + " columns", "Show fewer columns"));
  if (n > 25) bar.appendChild(toggle(box, "rows", "Show all " + n + " rows", "Show 25 rows"));
  if (bar.firstChild) box.insertBefore(bar, box.querySelector(".scroll"));
});
/* Where a cell's number comes from, made when it is first looked at.  The heading names the origins of its column; a cell that is not of the first one tells its number. */
doc.addEventListener("pointerover", function (e) {
  var c = e.target.closest && e.target.closest("td[data-v]");
  if (!c || c.title) return;
  var th = c.closest("table").tHead.rows[0].cells[c.cellIndex], which = c.getAttribute("data-s") || "0";
  var origin = th.getAttribute("data-s" + which), value = c.getAttribute("data-v"), range = c.getAttribute("data-i"), n = c.getAttribute("data-n") || th.getAttribute("data-n");
  if (origin) c.title = origin + (value ? (n ? "; n = " + n : "") + "; exactly " + value + " " + (th.getAttribute("data-u" + which) || "") : "") + (range ? "; interval " + range : "");
});
/* A sentence that the row above has too is written once. */
all("td[data-same]").forEach(function (c) { var above = c.parentNode.previousElementSibling; if (above) c.textContent = above.cells[c.cellIndex].textContent; });

/* Flame graphs: a box carries its share of the whole (data-x, data-w) and its row (data-d); zooming gives one box the full width. */
all("svg.flame").forEach(function (svg) {
  var W = +svg.getAttribute("data-width"), fig = svg.closest("figure"), bar = make("div", "ctl"), q = make("input", "search"), told = make("output");
  var boxes = all(".f", svg).map(function (g) {
    return { g: g, x: +g.getAttribute("data-x"), w: +g.getAttribute("data-w"), d: +g.getAttribute("data-d"), rect: g.querySelector("rect"), text: g.querySelector("text"), name: g.getAttribute("data-l") };
  });
  var at = boxes[0], back = button("Whole run", function () { zoom(boxes[0]); });
  function fit(b, room) {
    b.text.textContent = b.name;
    if (room < 18) { b.text.textContent = ""; return; }
    var n = b.name.length;
    while (n > 1 && b.text.getComputedTextLength() > room) { n = Math.min(n - 1, Math.floor(n * room / b.text.getComputedTextLength())); b.text.textContent = n > 1 ? b.name.slice(0, n) + "\u2026" : ""; }
  }
  function zoom(to) {
    at = to;
    boxes.forEach(function (b) {
      var from = Math.max((b.x - to.x) / to.w * W, 0), end = Math.min((b.x + b.w - to.x) / to.w * W, W), width = end - from;
      b.shown = width >= .4;
      b.g.classList.toggle("gone", !b.shown);
      if (!b.shown) return;
      b.rect.setAttribute("x", from + .5); b.rect.setAttribute("width", Math.max(width - 1, .4)); b.text.setAttribute("x", from + 6);
      fit(b, width - 12);
    });
    back.disabled = to === boxes[0];
  }
  function focus(b) { if (!b) return; boxes.forEach(function (o) { o.g.setAttribute("tabindex", o === b ? "0" : "-1"); }); b.g.focus(); }
  function next(b, key) {
    var row = boxes.filter(function (o) { return o.shown && o.d === b.d; }), i = row.indexOf(b);
    if (key === "ArrowRight") return row[i + 1];
    if (key === "ArrowLeft") return row[i - 1];
    var d = b.d + (key === "ArrowDown" ? 1 : -1);
    return boxes.filter(function (o) { return o.shown && o.d === d && (key === "ArrowDown" ? o.x >= b.x - 1e-9 && o.x < b.x + b.w : o.x <= b.x + 1e-9 && o.x + o.w > b.x); })[0];
  }
  if (!boxes.length) return;
  boxes.forEach(function (b, i) {
    b.g.setAttribute("tabindex", i ? "-1" : "0"); b.g.setAttribute("role", "button"); b.g.setAttribute("aria-label", b.rect.textContent || b.name);
    b.g.addEventListener("click", function () { zoom(b === at ? boxes[0] : b); });
    b.g.addEventListener("keydown", function (e) {
      if (e.key === "Enter" || e.key === " ") { zoom(b); focus(b); }
      else if (e.key === "Escape") { zoom(boxes[0]); focus(b); }
      else if (/^Arrow/.test(e.key)) focus(next(b, e.key));
      else return;
      e.preventDefault();
    });
  });
  q.type = "search"; q.placeholder = "Search names"; q.setAttribute("aria-label", "search the flame graph");
  q.addEventListener("input", function () {
    var s = q.value.toLowerCase().trim(), n = 0, sum = 0, end = 0;
    boxes.forEach(function (b) {
      var hit = s && b.d > 0 && (b.name + " " + b.g.getAttribute("data-o")).toLowerCase().indexOf(s) >= 0;
      b.g.classList.toggle("hit", !!hit); b.g.classList.toggle("off", !!s && !hit);
      if (!hit) return;
      n++;
      if (b.x + b.w > end + 1e-12) { sum += b.x + b.w - Math.max(b.x, end); end = b.x + b.w; }
    });
    told.textContent = s ? n + " found, " + (sum * 100).toFixed(1) + " % of the run" : "";
  });
  [q, back, told].forEach(function (e) { bar.appendChild(e); });
  fig.insertBefore(bar, fig.querySelector(".box"));
  /* Widths of words are known only where they are shown. */
  var sec = svg.closest("details");
  if (sec) sec.addEventListener("toggle", function () { if (sec.open) zoom(at); });
  if (!sec || sec.open) zoom(boxes[0]);
  back.disabled = true;
});
reveal();
})();
