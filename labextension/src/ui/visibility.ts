/**
 * Whether a node is looked at: what is scrolled out of sight, in a panel behind another, or on a page behind others does
 * no work.
 */

export class Attention {
  /**
   * @param changed - told whether the node is looked at, whenever that changes.
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

  /** Whether it is looked at now. */
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
