import {
  Timeline,
  TimelineConnector,
  TimelineContent,
  TimelineDot,
  TimelineItem,
  TimelineOppositeContent,
  timelineOppositeContentClasses,
  TimelineSeparator,
} from '@mui/lab';
import { Typography } from '@mui/material';
import { Event } from '../inventory/history';
import { Age } from './labels';

/** Shows what happened to an operator as a timeline. */
export function History({ events }: { events: Event[] }) {
  return (
    <Timeline
      sx={{
        m: 0,
        p: 0,
        [`& .${timelineOppositeContentClasses.root}`]: { flex: '0 0 70px', pl: 0 },
      }}
    >
      {events.map((e, i) => (
        <TimelineItem key={`${e.time} ${e.title}`} sx={{ minHeight: 48 }}>
          <TimelineOppositeContent color="text.secondary">
            <Age since={e.time} />
          </TimelineOppositeContent>
          <TimelineSeparator>
            <TimelineDot color={e.level === 'info' ? 'grey' : e.level} />
            {i < events.length - 1 && <TimelineConnector />}
          </TimelineSeparator>
          <TimelineContent sx={{ overflowWrap: 'anywhere' }}>
            {e.title}
            {e.detail && (
              <Typography variant="body2" color="text.secondary">
                {e.detail}
              </Typography>
            )}
          </TimelineContent>
        </TimelineItem>
      ))}
    </Timeline>
  );
}
