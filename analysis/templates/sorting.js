// Tables of the class "sortable" are sorted by the column whose heading is clicked, each of their bodies by itself.
"use strict";
(() => {
  const place = heading => [...heading.parentNode.cells].slice(0, heading.cellIndex).reduce((sum, cell) => sum + cell.colSpan, 0);
  const number = cell => Number(cell.dataset.value ?? cell.textContent.replace(/,/g, "").replace("−", "-").trim() ?? NaN);
  // Rows of one cell are headings within a body: they stay above.
  const sortBody = (body, column, down) => {
    const rows = [...body.rows].filter(row => row.cells.length > 1);
    const told = rows.map(row => ({ row, text: row.cells[column].textContent.trim(), value: number(row.cells[column]) }));
    const unknown = each => each.text === "" || each.text === "–";
    const numeric = told.every(each => unknown(each) || !Number.isNaN(each.value));
    told.sort((a, b) => unknown(a) - unknown(b) || (down ? -1 : 1) *
      (numeric ? a.value - b.value : a.text.localeCompare(b.text, undefined, { numeric: true })));
    body.append(...told.map(each => each.row));
  };
  document.addEventListener("click", event => {
    const heading = event.target.closest("table.sortable thead th");
    if (!heading) return;
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    for (const body of heading.closest("table").tBodies) sortBody(body, place(heading), down);
  });
  document.addEventListener("keydown", event => {
    if (event.key === "Enter") event.target.closest?.("table.sortable thead th")?.click();
  });
  for (const heading of document.querySelectorAll("table.sortable thead th")) heading.tabIndex = 0;
})();
