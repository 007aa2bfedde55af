"use strict";
// The page is complete without this: it adds numbers under the pointer, arrow keys inside a figure, and a dark / light switch.
(() => {
  const tip = document.getElementById("tip");
  const root = document.documentElement;
  let pointed = null;

  const marksOf = (figure) =>
    [...figure.querySelectorAll("svg [role=graphics-symbol][aria-label]:not(.role-axis):not(.role-legend):not(.role-title-text)")].filter((m) => m.getClientRects().length);

  function point(mark) {
    pointed?.classList.remove("pointed");
    pointed = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("pointed");
    tip.textContent = mark.getAttribute("aria-label");
    const at = mark.getBoundingClientRect();
    const left = Math.min(Math.max(at.left + at.width / 2 - tip.offsetWidth / 2, 8), innerWidth - tip.offsetWidth - 8);
    const above = at.top - tip.offsetHeight - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  }

  for (const figure of document.querySelectorAll("figure")) {
    figure.addEventListener("pointerover", (event) => {
      const mark = event.target.closest?.("[role=graphics-symbol][aria-label]");
      point(mark && marksOf(figure).includes(mark) ? mark : null);
    });
    figure.addEventListener("pointerleave", () => point(null));
    figure.addEventListener("blur", () => point(null));
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") return point(null);
      if (!step || event.target !== figure) return;
      const marks = marksOf(figure);
      const now = marks.indexOf(pointed);
      event.preventDefault();
      point(marks[now < 0 ? (step > 0 ? 0 : marks.length - 1) : (now + step + marks.length) % marks.length]);
    });
  }

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
