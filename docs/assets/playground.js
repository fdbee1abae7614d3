// The playground in a page has the theme that the page has now.
const tell = () => {
  const theme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
  for (const frame of document.querySelectorAll("iframe.playground")) frame.contentWindow.postMessage({ theme }, "*");
};
for (const frame of document.querySelectorAll("iframe.playground")) frame.addEventListener("load", tell);
new MutationObserver(tell).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
