/**
 * Hooks about what is on the screen, and how it looks there.
 */

import * as React from 'react';

// Charts are drawn a little before they come into sight.
const MARGIN = '200px';

/** Whether an element is in sight, or nearly. */
export function useInSight(element: React.RefObject<Element>): boolean {
  const [isInSight, setInSight] = React.useState(false);
  React.useEffect(() => {
    if (!element.current) {
      return;
    }
    const observer = new IntersectionObserver(entries => setInSight(entries.at(-1)?.isIntersecting === true), {
      rootMargin: MARGIN
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return isInSight;
}

/** A text that changes with the theme: what is drawn on a canvas does not do so by itself. */
export function useTheme(): string {
  const [theme, setTheme] = React.useState(themeNow);
  React.useEffect(() => {
    const observer = new MutationObserver(() => setTheme(themeNow()));
    observer.observe(document.body, {
      attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light', 'data-vscode-theme-id']
    });
    return () => observer.disconnect();
  }, []);
  return theme;
}

function themeNow(): string {
  const { jpThemeName, jpThemeLight, vscodeThemeId } = document.body.dataset;
  return [jpThemeName, jpThemeLight, vscodeThemeId].join(' ');
}
