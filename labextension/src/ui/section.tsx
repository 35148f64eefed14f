/**
 * A collapsible section that renders its content only while open.
 */

import * as React from 'react';

interface IProps {
  readonly title: string;
  readonly isOpen?: boolean;
  readonly children: React.ReactNode;
}

export function Section({ title, isOpen = false, children }: IProps): React.JSX.Element {
  const [open, setOpen] = React.useState(isOpen);
  return (
    <details className="jp-pai-Section" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary data-lm-suppress-shortcuts="true">{title}</summary>
      {open && children}
    </details>
  );
}

/** A list of names and values. Empty values are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, React.ReactNode])[] }): React.JSX.Element {
  return (
    <dl className="jp-pai-Facts">
      {facts
        .filter(([, value]) => value !== '' && value !== null && value !== false)
        .map(([name, value]) => (
          <React.Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </React.Fragment>
        ))}
    </dl>
  );
}
