/**
 * The figures that the code of a job has shown, updated live.
 */

import * as React from 'react';

import type { IOutputFile } from '../outputs/model.js';
import { kindOf, parseOutputs } from '../outputs/model.js';
import type { ITabProps } from '../ui/context.js';
import { Section } from '../ui/section.js';

const CHANNEL = 'figures';
// The latest ones; the tab Outputs has all of them.
const MOST = 20;
// Pause between two polls of an active job, in milliseconds.
const PAUSE = 3000;

/** Renders nothing until there is a figure. */
export function Figures(props: ITabProps): React.JSX.Element | null {
  const { engine, model, trans } = props;
  const files = useFigures(props);
  const figures = files.flatMap(({ path, modified }) => {
    const isImage = kindOf(path) === 'image';
    const url = isImage && engine.url('file', { job: model.jobId, channel: CHANNEL, path, written: modified });
    return url ? [{ path, url }] : [];
  });
  return figures.length === 0 ? null : (
    <Section title={trans.__('Figures (%1)', figures.length)} isOpen>
      <ul className="jp-pai-Figures" aria-label={trans.__('Figures')}>
        {figures.map(({ path, url }) => (
          <li key={path}>
            <img src={url} alt={path} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Return the latest figures in the order of their creation; polled while the job is active and the view visible. */
function useFigures({ engine, model, isVisible }: ITabProps): readonly IOutputFile[] {
  const [files, setFiles] = React.useState<readonly IOutputFile[]>([]);
  const { hasEnded, jobId } = model;
  const exists = model.job?.outputs.has(CHANNEL) ?? false;
  React.useEffect(() => {
    if (!isVisible || !exists) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const query = { job: jobId, channel: CHANNEL, sort: 'modified', order: 'desc', limit: MOST };
    const poll = async () => {
      // The tab Outputs reports errors.
      const reply = await engine.call('outputs', query).catch(() => null);
      if (isStopped) {
        return;
      }
      if (reply) {
        setFiles([...(parseOutputs(reply)[0]?.files ?? [])].reverse());
      }
      if (!hasEnded) {
        timer = setTimeout(() => void poll(), PAUSE);
      }
    };
    void poll();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [engine, jobId, isVisible, hasEnded, exists]);
  return files;
}
