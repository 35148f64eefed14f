/**
 * Whether a node is visible. Views that are scrolled away, in a hidden panel or on a hidden page do no work.
 */

export class Attention {
  /**
   * @param changed - called when the visibility changes.
   */
  constructor(
    node: Element,
    private readonly changed: (isSeen: boolean) => void
  ) {
    this.observer = new IntersectionObserver(entries => {
      this.isInSight = entries.at(-1)?.isIntersecting === true;
      this.tell();
    });
    this.observer.observe(node);
    document.addEventListener('visibilitychange', this.tell);
  }

  /** Whether the node is visible now. */
  isSeen = false;

  dispose(): void {
    this.observer.disconnect();
    document.removeEventListener('visibilitychange', this.tell);
  }

  private readonly tell = (): void => {
    const isSeen = this.isInSight && document.visibilityState === 'visible';
    if (isSeen !== this.isSeen) {
      this.isSeen = isSeen;
      this.changed(isSeen);
    }
  };

  private readonly observer: IntersectionObserver;
  private isInSight = false;
}
