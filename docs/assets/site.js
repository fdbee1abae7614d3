// The playground in a page has the theme that the page has now.
const tell = () => {
  const theme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
  for (const frame of document.querySelectorAll("iframe.playground")) frame.contentWindow.postMessage({ theme }, "*");
};
for (const frame of document.querySelectorAll("iframe.playground")) frame.addEventListener("load", tell);
new MutationObserver(tell).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
// Of several panels, or long: too small for a phone's width.
for (const image of document.querySelectorAll(".md-typeset img")) {
  const mark = () => image.classList.toggle("wide", image.naturalWidth > 900);
  if (image.complete) mark();
  else image.addEventListener("load", mark);
}
// Data of a page: the rows that have every word of the search, in any column, and how many these are.
for (const data of document.querySelectorAll(".data")) {
  const rows = [...data.querySelectorAll("tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);
  const search = () => {
    const words = data.querySelector("input").value.toLowerCase().split(/\s+/);
    let found = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      found += !row.hidden;
    }
    data.querySelector("output").value = `${found} of ${rows.length} rows`;
  };
  data.addEventListener("input", search);
  search();
}
// The theme leaves its search dialog without a name.
document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");
