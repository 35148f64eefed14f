/**
 * True if a node is visible. Views that are scrolled away, in a hidden panel or on a hidden page do no work.
 */

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
