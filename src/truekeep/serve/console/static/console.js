"use strict";
// Keys and live news. Pages are complete without this: it only clicks what can be clicked anyway.
(() => {
  const KEYS_OFF = "truekeep-keys-off";
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const typing = (target) => target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select"));

  function step(by) {
    const all = rows();
    if (!all.length) return;
    const here = all.findIndex((row) => row === document.activeElement);
    const open = all.findIndex((row) => row.getAttribute("aria-current") === "true");
    const from = here >= 0 ? here : open;
    const next = all[Math.min(all.length - 1, Math.max(0, from < 0 ? 0 : from + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    if (next.dataset.row === "open" && next.getAttribute("aria-current") !== "true") next.click();
  }

  function press(key) {
    const target = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key && (one.querySelector(":scope > summary") ?? one).offsetParent !== null);
    if (!target) return false;
    if (target.matches("input, textarea, select")) target.focus();
    else if (target.matches("details")) { target.open = true; target.querySelector("textarea, input:not([type=hidden])")?.focus(); }
    else target.click();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    const help = document.getElementById("help");
    if (event.key === "Escape") {
      document.querySelectorAll("details.menu[open], details[data-key][open]").forEach((one) => { one.open = false; });
      if (typing(event.target)) event.target.blur();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === "?" && help) { help.open ? help.close() : help.showModal(); event.preventDefault(); return; }
    if (localStorage.getItem(KEYS_OFF) || (help && help.open)) return;
    if (event.key === "x") {
      const row = document.activeElement?.closest(".row") ?? document.querySelector('.row:has([aria-current="true"])');
      const box = row?.querySelector("input[type=checkbox]");
      if (box) { box.checked = !box.checked; event.preventDefault(); return; }
    }
    if (event.key === "j" || event.key === "k") { step(event.key === "j" ? 1 : -1); event.preventDefault(); }
    else if (event.key.length === 1 && press(event.key)) event.preventDefault();
  });

  // A menu closes when something else is clicked.
  document.addEventListener("click", (event) => {
    document.querySelectorAll("details.menu[open]").forEach((one) => { if (!one.contains(event.target)) one.open = false; });
    const opener = event.target instanceof Element ? event.target.closest("[data-opens]") : null;
    if (opener) { const dialog = document.getElementById(opener.dataset.opens); if (dialog) { event.preventDefault(); dialog.showModal(); } }
  });
  document.addEventListener("change", (event) => {
    const target = event.target;
    if (target.matches("[data-keys-switch]")) target.checked ? localStorage.removeItem(KEYS_OFF) : localStorage.setItem(KEYS_OFF, "1");
    if (target.matches("[data-submits]")) target.form.requestSubmit();
  });
  const keySwitch = document.querySelector("[data-keys-switch]");
  if (keySwitch) keySwitch.checked = !localStorage.getItem(KEYS_OFF);

  // After a decision the list is where the person was.
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const current = document.querySelector('[data-row][aria-current="true"]');
  if (current) current.scrollIntoView({ block: "nearest" });

  // News: what lists and counts is brought up to date where it stands; what somebody reads or writes is left alone.
  const address = document.body.dataset.live;
  const live = document.getElementById("live");
  let seen = document.body.dataset.seen;
  function tell(words, action) {
    live.replaceChildren(document.createTextNode(words));
    const link = document.createElement("a");
    link.href = location.href; link.textContent = action;
    live.append(link);
  }
  function renewed(part, fresh) {
    const ticked = new Set([...part.querySelectorAll("input:checked")].map((box) => box.value));
    const focus = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const place = part.scrollTop;
    part.replaceChildren(...[...fresh.childNodes].map((one) => document.importNode(one, true)));
    part.querySelectorAll("input[type=checkbox]").forEach((box) => { box.checked = ticked.has(box.value); });
    part.scrollTop = place;
    if (focus) [...part.querySelectorAll("a[href]")].find((link) => link.getAttribute("href") === focus)?.focus();
  }
  async function renew() {
    const parts = [...document.querySelectorAll("[data-live-part]")];
    if (!parts.length) return false;
    const answer = await fetch(location.href, { redirect: "manual" });
    if (!answer.ok) return false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      if (fresh) renewed(part, fresh);
    }
    return true;
  }
  async function look() {
    if (document.hidden) return;
    let answer, news;
    try {
      answer = await fetch(address, { headers: { Accept: "application/json" }, redirect: "manual" });
      if (answer.type === "opaqueredirect" || answer.status === 401) { tell(live.dataset.wordsOut, live.dataset.wordsRefresh); clearInterval(timer); return; }
      if (!answer.ok) return;
      news = await answer.json();
      const count = document.querySelector("[data-live-count]");
      if (count) count.textContent = String(news.waiting);
      if (seen === undefined || String(news.queue) === seen) return;
      seen = String(news.queue);
      await renew();
      tell(live.dataset.wordsNew, live.dataset.wordsRefresh);
    } catch { /* the service is away for a moment; the next look asks again */ }
  }
  const timer = address ? setInterval(look, Number(document.body.dataset.every || 8000)) : 0;
})();
