// Answers questions about operators beside the page, which would wait meanwhile.

import type { Answer, Question } from './inventory';
import { Program, start } from './program';

let started: Promise<Program> | undefined;

async function load(program: string): Promise<Program> {
  const { body } = await fetch(program);
  if (!body) {
    throw new Error('the program that describes operators is empty');
  }
  return start(body);
}

self.onmessage = async ({ data }: MessageEvent<Question>) => {
  if (data.program) {
    started = load(data.program);
  }
  try {
    const answer: Answer = { id: data.id, ...(await started)?.(data.cluster) };
    self.postMessage(answer);
  } catch (error) {
    // The page starts another worker.
    setTimeout(() => {
      throw error;
    });
  }
};
