"use strict";
// Heads of tables of the class "sort" become buttons: a click, or Enter, sorts the rows by the column; again, the other way round.
const number = /^[<>]?\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/i;
const key = (cell) => {
  const text = cell.dataset.sort ?? cell.textContent.trim().replaceAll("\u2212", "-").replaceAll(/,(?=\d{3})/g, "");
  const found = number.exec(text);
  return { text, none: text === "" || text === "-", number: found ? Number(found[1]) : NaN };
};
const compare = new Intl.Collator("en", { numeric: true }).compare;
for (const table of document.querySelectorAll("table.sort")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const way = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => ({ row, ...key(row.cells[column]) }));
      const numeric = rows.every((one) => one.none || !Number.isNaN(one.number));
      // What has no value comes last either way.
      rows.sort((a, b) => a.none - b.none
        || way * ((numeric && !a.none && a.number - b.number) || compare(a.text, b.text)));
      body.append(...rows.map((one) => one.row));
    });
  });
}
