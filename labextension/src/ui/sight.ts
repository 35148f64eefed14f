/**
 * Visibility of elements and widgets, and the theme.
 */

import * as React from 'react';

// Charts are drawn slightly before they scroll into view.
const MARGIN = '200px';

/** Return whether an element is in, or near, the viewport. */
export function useInViewport(element: React.RefObject<Element>): boolean {
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

/** Return a text that changes with the theme, for canvases, which do not follow CSS variables. */
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
