/**
 * Virtual scrolling: only the visible rows of a long list are rendered.
 */

import * as React from 'react';

export interface IRowWindow {
  readonly box: React.RefObject<HTMLDivElement>;
  /** The first visible row, and the number of visible rows. */
  readonly first: number;
  readonly count: number;
  /** Scroll until a row is visible. */
  readonly reveal: (row: number) => void;
  /** Scroll to the top. */
  readonly top: () => void;
}

/**
 * Return the visible rows of a scrollable box.
 *
 * @param height - the height of each row, in pixels.
 * @param head - the height of a sticky header, in rows.
 */
export function useRowWindow(height: number, head = 0): IRowWindow {
  const box = React.useRef<HTMLDivElement>(null);
  const [first, setFirst] = React.useState(0);
  const [count, setCount] = React.useState(1);
  React.useEffect(() => {
    const node = box.current;
    if (!node) {
      return;
    }
    const measure = () => {
      setFirst(Math.max(Math.floor(node.scrollTop / height) - head, 0));
      setCount(Math.ceil(node.clientHeight / height) + 1 + head);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    node.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      node.removeEventListener('scroll', measure);
    };
  }, [height, head]);
  const reveal = (row: number) => {
    const node = box.current;
    if (node && row * height < node.scrollTop) {
      node.scrollTop = row * height;
    } else if (node && (row + 1 + head) * height > node.scrollTop + node.clientHeight) {
      node.scrollTop = (row + 1 + head) * height - node.clientHeight;
    }
  };
  const top = () => {
    box.current?.scrollTo({ top: 0 }); // Some browsers return a promise.
  };
  return { box, first, count, reveal, top };
}
