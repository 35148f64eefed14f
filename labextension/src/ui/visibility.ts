/**
 * True if a node is visible. Views that are scrolled away, in a hidden panel or on a hidden page do no work.
 */

import * as React from 'react';

export class VisibilityObserver {
  /**
   * @param changed - called when the visibility changes.
   */
  constructor(
    node: Element,
    private readonly changed: (isVisible: boolean) => void
  ) {
    this.observer = new IntersectionObserver(entries => {
      this.isInViewport = entries.at(-1)?.isIntersecting === true;
      this.update();
    });
    this.observer.observe(node);
    document.addEventListener('visibilitychange', this.update);
  }

  /** True if the node is visible now. */
  isVisible = false;

  dispose(): void {
    this.observer.disconnect();
    document.removeEventListener('visibilitychange', this.update);
  }

  private readonly update = (): void => {
    const isVisible = this.isInViewport && document.visibilityState === 'visible';
    if (isVisible !== this.isVisible) {
      this.isVisible = isVisible;
      this.changed(isVisible);
    }
  };

  private readonly observer: IntersectionObserver;
  private isInViewport = false;
}

/** Return whether an element is visible: in the viewport, in a shown panel and on a visible page. */
export function useVisibility(element: React.RefObject<Element>): boolean {
  const [isVisible, setVisible] = React.useState(false);
  React.useEffect(() => {
    if (!element.current) {
      return;
    }
    const observer = new VisibilityObserver(element.current, setVisible);
    return () => observer.dispose();
  }, [element]);
  return isVisible;
}

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
