/**
 * A table with a column for each job.
 */

import * as React from 'react';

/** A line of the table: what it is about, and a cell for each job. */
export interface IRow {
  readonly name: string;
  readonly cells: readonly React.ReactNode[];
}

interface IProps {
  readonly label: string;
  readonly heads: readonly React.ReactNode[];
  readonly rows: readonly IRow[];
}

export function CompareTable({ label, heads, rows }: IProps): React.JSX.Element {
  return (
    // It may be wider than the view: then it is moved with the keyboard too.
    <div className="jp-pai-Compare-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <td />
            {heads.map((head, i) => (
              <th key={i} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, cells }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {cells.map((cell, i) => (
                <td key={i}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is shown when it is asked for. */
export function Folded(props: {
  readonly title: string;
  readonly isOpen?: boolean;
  readonly children: () => React.ReactNode;
}): React.JSX.Element {
  const [isOpen, setOpen] = React.useState(props.isOpen ?? false);
  return (
    <details className="jp-pai-Compare-part" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{props.title}</summary>
      {isOpen && props.children()}
    </details>
  );
}
