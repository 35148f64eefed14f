/**
 * Which rows of a long list are seen, so that only those are in the page.
 */

import * as React from 'react';

export interface IRowWindow {
  readonly box: React.RefObject<HTMLDivElement>;
  /** The first row that is seen, and how many. */
  readonly first: number;
  readonly count: number;
  /** Scroll until a row is seen. */
  readonly reveal: (row: number) => void;
  /** Scroll to the beginning. */
  readonly top: () => void;
}

/**
 * The rows that are seen in a box, as it is scrolled and sized.
 *
 * @param height - of each row, in pixels.
 * @param head - how many rows' height a heading takes that stays in view.
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
    box.current?.scrollTo({ top: 0 }); // Newer browsers give a promise.
  };
  return { box, first, count, reveal, top };
}
