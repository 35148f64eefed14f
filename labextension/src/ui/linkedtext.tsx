/**
 * A text of the engine whose addresses of web pages are links.
 */

import * as React from 'react';

// ASCII only: in Chinese texts, words follow without a space. A sign at the end belongs to the sentence.
const ADDRESS = /(https?:\/\/[\x21-\x7e]*[\w/])/;

export function LinkedText({ text }: { text: string }): React.JSX.Element {
  return (
    <>
      {text.split(ADDRESS).map((part, n) =>
        n % 2 ? (
          <a key={n} href={part} target="_blank" rel="noopener noreferrer">
            {part}
          </a>
        ) : (
          part
        )
      )}
    </>
  );
}
