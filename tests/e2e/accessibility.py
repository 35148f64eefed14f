"""Accessibility checks in a browser: axe rules, keyboard reach, narrow width and reduced motion."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import ElementHandle, Page

from ..conftest import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
NARROW = 240
# Seconds; a transition within one frame is not motion.
STILL = 0.02


def faults(page: Page, root: ElementHandle | str, *rules: str) -> list[str]:
    """Return axe's violations in a view or in the elements of a selector, for `rules` or all rules."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
        # JupyterLab's body has no height of its own; axe would treat its content as invisible.
        page.evaluate("document.body.style.height = '100vh'")
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    result = page.evaluate(RUN_AXE, [root, options])
    assert result["passes"] or result["violations"], "axe saw nothing"
    return [
        f"{fault['id']}: {fault['help']}: {node['html'][:200]}: {json.dumps(node['any'][:1])[:300]}"
        for fault in result["violations"]
        for node in fault["nodes"]
    ]


def unreachable(page: Page, root: ElementHandle) -> list[str]:
    """Return the controls of a view that Tab does not reach or that do not show their focus.

    Controls that are redrawn meanwhile, or take the focus when they appear, are checked a second time.
    """
    first = _walk(page, root)
    return sorted({*first} & {*_walk(page, root)}) if first else []


def _walk(page: Page, root: ElementHandle) -> list[str]:
    wanted = root.evaluate(CONTROLS)
    root.evaluate(BEFORE)
    hidden: set[str] = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        reply: dict[str, Any] = page.evaluate(REACHED)
        if not reply["inside"]:
            break
        if not reply["shown"]:
            hidden.add(f"no sign of the focus: {reply['html']}")
    missed: list[str] = root.evaluate(MISSED)
    return [f"not reached by Tab: {html}" for html in missed] + sorted(hidden)


def cut_off(root: ElementHandle) -> list[str]:
    """Return the parts of a view that are cut off at the smallest width of a side panel."""
    result: list[str] = root.evaluate(CUT_OFF, NARROW)
    return result


def moving(root: ElementHandle) -> list[str]:
    """Return the parts of a view that move although the user prefers reduced motion."""
    result: list[str] = root.evaluate(MOVING, STILL)
    return result


# The passed rules have long texts, whose number is enough.
RUN_AXE = """async ([root, options]) => {
  const { passes, violations } = await axe.run(root, options);
  return { passes: passes.length, violations };
}"""

# Number the controls that Tab must reach. Tab reaches one control of a radio group or of a group with arrow keys,
# and none inside a menu.
CONTROLS = """root => {
  const all = 'a[href], button, input, select, textarea, summary, iframe, [tabindex], [contenteditable=true]';
  const isOpen = node => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;
  const found = [...root.querySelectorAll(all), ...(root.matches(all) ? [root] : [])].filter(node => {
    const group = node.type === 'radio' && node.name && `input[name="${CSS.escape(node.name)}"]`;
    const one = group && (root.querySelector(`${group}:checked`) ?? root.querySelector(group));
    const isMine = (!one || one === node) && !node.closest('[inert], [role=menu]');
    return node.tabIndex >= 0 && !node.disabled && isOpen(node) && isMine;
  });
  found.forEach(node => { node.dataset.tabbed = 'no'; });
  root.dataset.walked = '';
  return found.length;
}"""

# Move the focus to just before the view.
BEFORE = """root => {
  document.querySelector('#before-the-view')?.remove();
  const before = document.createElement('button');
  before.id = 'before-the-view';
  root.before(before);
  before.focus();
}"""

REACHED = """() => {
  const node = document.activeElement;
  const inside = node !== null && node.closest('[data-walked]') !== null;
  if (!inside) return { inside };
  const look = () => {
    const places = [node, ...(node.closest('label') ? [node.closest('label')] : []), node.parentElement];
    return places.map(place => {
      const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, textDecorationLine } =
        getComputedStyle(place);
      return [outlineStyle === 'none' ? '' : outlineWidth + outlineColor, boxShadow, borderColor, backgroundColor,
        textDecorationLine].join();
    }).join('|');
  };
  node.dataset.tabbed = 'yes';
  const focused = look();
  node.blur();
  const plain = look();
  node.focus();
  return { inside, shown: focused !== plain, html: node.outerHTML.slice(0, 150) };
}"""

MISSED = """root => {
  document.querySelector('#before-the-view')?.remove();
  const all = [root, ...root.querySelectorAll('[data-tabbed]')].filter(node => node.dataset.tabbed);
  const missed = all.filter(node => node.dataset.tabbed === 'no').map(node => node.outerHTML.slice(0, 150));
  all.forEach(node => { delete node.dataset.tabbed; });
  delete root.dataset.walked;
  return missed;
}"""

# Elements that scroll within the view are not cut off.
CUT_OFF = """async (root, width) => {
  const before = root.getAttribute('style');
  Object.assign(root.style, { width: `${width}px`, minWidth: '0', maxWidth: `${width}px`, boxSizing: 'border-box' });
  await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const found = [];
  const name = node => `${node.outerHTML.slice(0, 120)}`;
  if (root.scrollWidth > root.clientWidth + 1) found.push(`${root.scrollWidth} wide: ${name(root)}`);
  const frame = root.getBoundingClientRect();
  const scrolls = node => {
    for (let at = node.parentElement; at && at !== root.parentElement; at = at.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth) return true;
    }
    return false;
  };
  for (const node of root.querySelectorAll('button, input, select, textarea, a[href], summary, [role=tab]')) {
    const box = node.getBoundingClientRect();
    if (box.width && node.checkVisibility() && (box.right > frame.right + 1 || box.left < frame.left - 1)) {
      const style = getComputedStyle(node);
      const small = box.width < 2 || style.clipPath !== 'none' || style.opacity === '0';
      if (!small && !scrolls(node)) found.push(`outside by ${Math.round(box.right - frame.right)}: ${name(node)}`);
    }
  }
  if (before === null) root.removeAttribute('style'); else root.setAttribute('style', before);
  return found;
}"""

MOVING = """(root, still) => {
  const seconds = text => parseFloat(text) * (text.includes('ms') ? 0.001 : 1);
  const longest = text => Math.max(0, ...text.split(',').map(seconds));
  const moves = ({ animationName, animationDuration, transitionProperty, transitionDuration }) =>
    (animationName !== 'none' && longest(animationDuration) > still) ||
    (transitionProperty !== 'none' && longest(transitionDuration) > still);
  return [root, ...root.querySelectorAll('*')].filter(node =>
    [null, '::before', '::after'].some(part => moves(getComputedStyle(node, part)))
  ).map(node => node.outerHTML.slice(0, 120));
}"""
