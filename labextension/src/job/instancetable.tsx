/**
 * The table of a job's instances. Only visible rows are rendered, and columns without any value are left out.
 */

import * as React from 'react';

import type { IJob } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { useClock } from '../ui/context.js';
import { Section } from '../ui/section.js';
import { StatusBadge } from '../ui/statusbadge.js';
import { useRowWindow } from '../ui/virtualrows.js';
import type { IColumn, IInstance } from './instances.js';
import { columnsOf, isRunning, parseInstance, renderedRows } from './instances.js';
import '../../style/instances.css';

// Height of all rows and of the header, in pixels; as in the style sheet.
const ROW = 26;

interface IProps extends ITabProps {
  readonly job: IJob;
}

/** Renders nothing until there are several instances. */
export function Instances(props: IProps): React.JSX.Element | null {
  const instances = useInstances(props);
  const { trans, isCompact } = props;
  return instances.length < 2 ? null : (
    <Section title={trans.__('Instances (%1)', instances.length)} isOpen={!isCompact}>
      <Table {...props} instances={instances} />
    </Section>
  );
}

function useInstances({ engine, model, isVisible }: IProps): readonly IInstance[] {
  const [instances, setInstances] = React.useState<readonly IInstance[]>([]);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const controller = new AbortController();
    engine.subscribe(
      { topic: 'instances', job: model.jobId },
      message => {
        if (message.type === 'instances') {
          setInstances(message.instances.map(parseInstance));
        }
      },
      controller.signal
    );
    return () => controller.abort();
  }, [engine, model, isVisible]);
  return instances;
}

function Table(props: IProps & { instances: readonly IInstance[] }): React.JSX.Element {
  const { instances, trans, job, isVisible, openLog } = props;
  const { box, first, count, reveal } = useRowWindow(ROW, 1);
  const columns = React.useMemo(() => columnsOf(instances, trans), [instances, trans]);
  const now = useClock(isVisible && instances.some(isRunning));
  const { current, setCurrent, onKeyDown } = useKeys(box, instances.length, Math.max(count - 3, 1), reveal);
  const logs = React.useMemo(() => new Set(job.instances), [job.instances]);
  const rows = renderedRows(first, count, current, instances.length);
  const open = (name: string) => {
    // A click that selects text opens nothing.
    if (logs.has(name) && !window.getSelection()?.toString()) {
      openLog?.(name);
    }
  };
  return (
    <div ref={box} className="jp-pai-InstanceTable" data-lm-suppress-shortcuts="true" onKeyDown={onKeyDown}>
      <table aria-label={trans.__('Instances (%1)', instances.length)} aria-rowcount={instances.length + 1}>
        <thead>
          <tr>
            <th scope="col">{trans.__('Instance')}</th>
            <th scope="col">{trans.__('Status')}</th>
            {columns.map(({ id, title }) => (
              <th key={id} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => {
            const instance = instances[row];
            const before = row - (n ? (rows[n - 1] ?? 0) + 1 : 0);
            return instance ? (
              <React.Fragment key={row}>
                <Gap rows={before} />
                <Row
                  {...{ trans, instance, row, columns, now }}
                  isCurrent={row === current}
                  hasLog={logs.has(instance.name)}
                  open={() => open(instance.name)}
                  onFocus={() => setCurrent(row)}
                />
              </React.Fragment>
            ) : null;
          })}
          <Gap rows={instances.length - 1 - (rows.at(-1) ?? -1)} />
        </tbody>
      </table>
    </div>
  );
}

interface IKeys {
  /** The row that the tab key reaches. */
  readonly current: number;
  readonly setCurrent: (row: number) => void;
  readonly onKeyDown: (event: React.KeyboardEvent) => void;
}

/** Return the handler of the keys that move the focus between rows. A page key moves by `page` rows. */
function useKeys(box: React.RefObject<HTMLElement>, total: number, page: number, reveal: (row: number) => void): IKeys {
  const [selected, setSelected] = React.useState(0);
  const current = Math.min(selected, total - 1);
  const isMoving = React.useRef(false);
  React.useLayoutEffect(() => {
    if (isMoving.current) {
      isMoving.current = false;
      box.current?.querySelector<HTMLElement>(`[data-row="${current}"] button`)?.focus({ preventScroll: true });
    }
  }, [current]);
  const onKeyDown = (event: React.KeyboardEvent) => {
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: total - 1
    };
    const to = moves[event.key];
    if (to !== undefined) {
      const row = Math.min(Math.max(to, 0), total - 1);
      event.preventDefault();
      event.stopPropagation();
      isMoving.current = row !== current;
      setSelected(row);
      reveal(row);
    }
  };
  return { current, setCurrent: setSelected, onKeyDown };
}

/** The space of rows that are not rendered. */
function Gap({ rows }: { rows: number }): React.JSX.Element | null {
  return rows > 0 ? <tr aria-hidden style={{ height: rows * ROW }} /> : null;
}

interface IRowProps {
  readonly trans: ITabProps['trans'];
  readonly instance: IInstance;
  readonly row: number;
  readonly columns: readonly IColumn[];
  readonly now: number;
  readonly isCurrent: boolean;
  readonly hasLog: boolean;
  readonly open: () => void;
  readonly onFocus: () => void;
}

function Row({ trans, instance, row, columns, now, ...props }: IRowProps): React.JSX.Element {
  const { isCurrent, hasLog, open, onFocus } = props;
  const { name, status } = instance;
  const platformStatus = instance.platformStatus.toLowerCase() === status ? '' : instance.platformStatus;
  return (
    <tr data-row={row} aria-rowindex={row + 2} data-log={hasLog} onClick={open}>
      <th scope="row" title={name}>
        <button
          type="button"
          className="jp-pai-Link"
          tabIndex={isCurrent ? 0 : -1}
          aria-disabled={!hasLog}
          title={hasLog ? trans.__('Open the log of %1', name) : trans.__('No log output yet.')}
          onFocus={onFocus}
        >
          {name}
        </button>
      </th>
      <td title={instance.platformStatus}>
        {status && <StatusBadge status={status} trans={trans} />}
        {platformStatus && (status ? ` (${platformStatus})` : platformStatus)}
      </td>
      {columns.map(({ id, text }) => (
        <td key={id} data-column={id} title={text(instance, now)}>
          {text(instance, now)}
        </td>
      ))}
    </tr>
  );
}
