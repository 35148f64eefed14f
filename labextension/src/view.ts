/**
 * A job in a cell's output: its state and the end of its log, live from the server.
 *
 * Everything that comes from a job is text here, never HTML.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { JobStream } from './stream.js';
import { Tail } from './tail.js';
import type { IJob, IOutput, JobStatus, Message } from './wire.js';
import { hasEnded } from './wire.js';

const LINES = 10;
const TICK = 1_000;

export class JobView extends Widget {
  constructor(
    private readonly stream: JobStream,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-pai-Job');
    this.node.setAttribute('role', 'group');
    const head = this.add('div', 'head', this.node);
    this.status = this.add('span', 'status', head);
    this.status.setAttribute('role', 'status');
    this.name = this.add('span', 'name', head);
    this.facts = this.add('span', 'facts', head);
    this.metrics = this.add('div', 'metrics', this.node);
    this.trouble = this.add('div', 'trouble', this.node);
    this.log = this.add('pre', 'log', this.node);
    this.log.setAttribute('role', 'log');
    this.log.setAttribute('aria-label', trans.__('Log'));
    this.log.tabIndex = 0;
  }

  /** Show the job of an output. The same job again changes nothing: the view is live already. */
  showOutput(output: IOutput): void {
    if (output.jobId === this.jobId) {
      return;
    }
    this.stop();
    this.jobId = output.jobId;
    this.isLive = false;
    this.setLog(output.snapshot);
    this.life = new AbortController();
    this.stream.subscribe({ topic: 'job', job: output.jobId }, m => this.onJob(m), this.life.signal);
    const tail = new Tail(LINES);
    // More than are shown: those of `report` are not.
    const topic = { topic: 'log', job: output.jobId, tail: 10 * LINES } as const;
    this.stream.subscribe(topic, m => this.onLog(m, tail), this.life.signal);
  }

  override dispose(): void {
    this.stop();
    super.dispose();
  }

  private stop(): void {
    this.life?.abort();
    clearInterval(this.ticking);
    this.ticking = undefined;
  }

  private onJob(message: Message): void {
    if (message.type === 'job') {
      this.showJob(message.job);
    } else if (message.type === 'error') {
      this.trouble.textContent = `${message.message} ${message.fix}`.trim();
      this.facts.textContent = this.trans.__('as it was when the notebook was saved');
    }
  }

  private onLog(message: Message, tail: Tail): void {
    if (message.type !== 'log') {
      return;
    }
    tail.push(message.text);
    this.isLive = true;
    const atEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    this.setLog(tail.toString());
    if (atEnd) {
      this.log.scrollTop = this.log.scrollHeight;
    }
  }

  private setLog(text: string): void {
    this.log.textContent = text;
    this.log.hidden = !text;
  }

  private showJob(job: IJob): void {
    if (!this.isLive) {
      this.isLive = true;
      this.setLog(''); // What was saved is out of date.
    }
    const word = this.word(job.status);
    if (this.status.textContent !== word) {
      this.status.textContent = word; // Only a change is read out.
      this.status.dataset['status'] = job.status;
    }
    this.name.textContent = job.name;
    this.node.setAttribute('aria-label', this.trans.__('Training job %1', job.name));
    this.trouble.textContent = [job.reason, job.fix].filter(Boolean).join(' ');
    this.metrics.textContent = [...job.metrics].map(([name, value]) => `${name} ${short(value)}`).join(' · ');
    this.showFacts(job);
    clearInterval(this.ticking);
    this.ticking = hasEnded(job) ? undefined : window.setInterval(() => this.showFacts(job), TICK);
  }

  private showFacts(job: IJob): void {
    const facts = [job.id, job.backend];
    if (job.startedAt !== null) {
      facts.push(duration((job.endedAt ?? Date.now()) - job.startedAt));
    }
    if (job.progress !== null && !hasEnded(job)) {
      facts.push(`${Math.round(job.progress * 100)} %`);
    }
    this.facts.textContent = facts.join(' · ');
  }

  private word(status: JobStatus): string {
    const words: Record<JobStatus, string> = {
      queued: this.trans.__('queued'),
      starting: this.trans.__('starting'),
      running: this.trans.__('running'),
      succeeded: this.trans.__('succeeded'),
      failed: this.trans.__('failed'),
      stopped: this.trans.__('stopped'),
      lost: this.trans.__('lost')
    };
    return words[status];
  }

  private add(tag: 'div' | 'span' | 'pre', part: string, parent: HTMLElement): HTMLElement {
    const element = document.createElement(tag);
    element.className = `jp-pai-Job-${part}`;
    parent.append(element);
    return element;
  }

  private readonly status: HTMLElement;
  private readonly name: HTMLElement;
  private readonly facts: HTMLElement;
  private readonly metrics: HTMLElement;
  private readonly trouble: HTMLElement;
  private readonly log: HTMLElement;
  private jobId = '';
  private isLive = false;
  private life: AbortController | null = null;
  private ticking: number | undefined;
}

function short(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(5))) : String(value);
}

/** Milliseconds for people: `4.2 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(milliseconds, 0) / 1000;
  if (seconds < 60) {
    return `${seconds.toFixed(1)} s`;
  }
  const minutes = Math.floor(Math.round(seconds) / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds) % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
