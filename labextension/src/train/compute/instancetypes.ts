/**
 * Parser, filter and order of instance types and quotas.
 */

import type { Json } from '../../api/wire.js';
import { list, number, record, string } from '../../api/wire.js';
import { count } from '../../ui/format.js';

/** `memory`, and `gpuMemory` of each GPU, are in bytes. Null values are unknown or not published. */
export interface IInstanceType {
  readonly name: string;
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  readonly gpuName: string;
  readonly gpuMemory: number;
  readonly isAvailable: boolean | null;
  /** Price per hour. */
  readonly price: IPrice | null;
  /** Price of a preemptible instance, as a fraction of the regular price. */
  readonly spotDiscount: number | null;
}

/** `currency` is an ISO 4217 code. */
export interface IPrice {
  readonly amount: number;
  readonly currency: string;
}

/** Resources reserved for the account, or a machine that runs its jobs. `status` is the platform's own. */
/** A user whose jobs are in a quota: the number of jobs that run, and of jobs that wait for resources. */
export interface IQuotaUser {
  readonly name: string;
  readonly running: number;
  readonly waiting: number;
}

export interface IQuota {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  readonly freeCpu: number;
  readonly freeMemory: number;
  readonly freeGpu: number;
  readonly gpuName: string;
  /** Empty if they were not requested or are unknown. */
  readonly users: readonly IQuotaUser[];
}

/** `leftOut` is the number of types hidden by the administrator. */
export interface IInstances {
  readonly types: readonly IInstanceType[];
  readonly quotas: readonly IQuota[];
  readonly hiddenCount: number;
}

export type Column = 'name' | 'cpu' | 'gpu' | 'memory' | 'price' | 'available';

export interface IOrder {
  readonly column: Column;
  readonly isDescending: boolean;
}

export function parseInstances(value: unknown): IInstances {
  const response = record(value);
  return {
    types: list(response['instances']).map(item => parseType(record(item))),
    quotas: list(response['quotas']).map(item => parseQuota(record(item))),
    hiddenCount: number(response['left_out']) ?? 0
  };
}

function parseType(data: Json): IInstanceType {
  return {
    name: string(data['name']),
    cpu: number(data['cpu']) ?? 0,
    memory: number(data['memory']) ?? 0,
    gpu: number(data['gpu']) ?? 0,
    gpuName: string(data['gpu_name']),
    gpuMemory: number(data['gpu_memory']) ?? 0,
    isAvailable: typeof data['available'] === 'boolean' ? data['available'] : null,
    price: parsePrice(record(data['price'])),
    spotDiscount: number(data['spot_discount'])
  };
}

function parsePrice(data: Json): IPrice | null {
  const [amount, currency] = [number(data['amount']), string(data['currency'])];
  return amount !== null && currency ? { amount, currency } : null;
}

function parseQuota(data: Json): IQuota {
  return {
    id: string(data['id']),
    name: string(data['name']),
    status: string(data['status']),
    cpu: number(data['cpu']) ?? 0,
    memory: number(data['memory']) ?? 0,
    gpu: number(data['gpu']) ?? 0,
    freeCpu: number(data['free_cpu']) ?? 0,
    freeMemory: number(data['free_memory']) ?? 0,
    freeGpu: number(data['free_gpu']) ?? 0,
    gpuName: string(data['gpu_name']),
    users: list(data['users'])
      .map(record)
      .map(user => ({
        name: string(user['name']),
        running: number(user['running']) ?? 0,
        waiting: number(user['waiting']) ?? 0
      }))
  };
}

/** Return the types whose name or GPU name contains all words of a text. */
export function filterTypes(types: readonly IInstanceType[], text: string): readonly IInstanceType[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return types.filter(type => words.every(word => `${type.name} ${type.gpuName}`.toLowerCase().includes(word)));
}

/**
 * Sort types, favorites first. Unknown values come last in both directions. Prices are compared within their currency.
 */
export function sortTypes(
  types: readonly IInstanceType[],
  { column, isDescending }: IOrder,
  favorites: ReadonlySet<string>
): readonly IInstanceType[] {
  const sign = isDescending ? -1 : 1;
  const rank = (type: IInstanceType) => (favorites.has(type.name) ? 0 : 1);
  return [...types].sort(
    (a, b) => rank(a) - rank(b) || compare(keyOf(a, column), keyOf(b, column), sign) || byName(a.name, b.name)
  );
}

type Key = string | number | IPrice | null;

function keyOf(type: IInstanceType, column: Column): Key {
  switch (column) {
    case 'name':
      return type.name;
    case 'cpu':
      return type.cpu;
    case 'gpu':
      return type.gpu * 1e6 + type.gpuMemory / 1e9;
    case 'memory':
      return type.memory;
    case 'price':
      return type.price;
    case 'available':
      return type.isAvailable === null ? null : type.isAvailable ? 0 : 1;
  }
}

function compare(a: Key, b: Key, sign: number): number {
  if (a === null || b === null) {
    return Number(a === null) - Number(b === null);
  }
  if (typeof a === 'object' && typeof b === 'object') {
    return a.currency === b.currency ? sign * (a.amount - b.amount) : byName(a.currency, b.currency);
  }
  if (typeof a === 'number' && typeof b === 'number') {
    return sign * (a - b);
  }
  return typeof a === 'string' && typeof b === 'string' ? sign * byName(a, b) : 0;
}

const byName = new Intl.Collator('en', { numeric: true }).compare;

/** Format bytes as GiB: `7.5`. */
export function gibibytes(bytes: number): string {
  return String(Number((bytes / 2 ** 30).toFixed(1)));
}

/** Format a memory size in bytes: `7.5 GiB`. */
export function memoryText(bytes: number): string {
  return `${gibibytes(bytes)} GiB`;
}

/** Format the GPUs of an instance type: `2 × V100 (16 GiB)`; empty without GPUs. */
export function gpuText({ gpu, gpuName, gpuMemory }: IInstanceType): string {
  const memory = gpuMemory ? ` (${memoryText(gpuMemory)})` : '';
  return gpu ? `${gpu} × ${gpuName || 'GPU'}${memory}` : '';
}

/** Format a price in its currency. */
export function priceText({ amount, currency }: IPrice): string {
  return count(amount, { style: 'currency', currency, maximumFractionDigits: 4 });
}
