/* Congestion management mechanisms as state machines, and the frames that they speak by.
 * Made by cbindgen of crates/unpause-c; docs/c-api.md says how to use it. */

#ifndef UNPAUSE_H
#define UNPAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* Times are picoseconds since an instant that the caller chooses, rates are bit/s. */
#define UNPAUSE_NS(ns) ((uint64_t)(ns) * 1000)
#define UNPAUSE_US(us) UNPAUSE_NS((us) * UINT64_C(1000))
#define UNPAUSE_MS(ms) UNPAUSE_US((ms) * UINT64_C(1000))
#define UNPAUSE_MBPS(mbps) ((uint64_t)(mbps) * 1000000)
#define UNPAUSE_GBPS(gbps) UNPAUSE_MBPS((gbps) * UINT64_C(1000))
/* numerator / denominator as parameters in "2^-32" take it; numerator below 2^31. */
#define UNPAUSE_FRACTION(numerator, denominator) \
  ((((uint64_t)(numerator) << 32) + (uint64_t)(denominator) / 2) / (uint64_t)(denominator))


// No window: any number of bytes may be in flight.
#define UNPAUSE_NO_WINDOW UINT64_MAX

// The most hops that an acknowledgement may have, which is the room of this interface. Laws may read fewer: HPCC and PowerTCP
// read the first five.
#define UNPAUSE_MOST_HOPS 16

// Later than everything: a timer that is off, a round-trip time that was not measured.
#define UNPAUSE_NEVER UINT64_MAX

// The result of a call. If it is not `UNPAUSE_STATUS_OK`, nothing has changed and no result was written,
// except after `UNPAUSE_STATUS_PANIC`.
typedef enum {
  // Done.
  UNPAUSE_STATUS_OK,
  // A pointer is null.
  UNPAUSE_STATUS_NULL_POINTER,
  // The storage is not aligned as its type asks.
  UNPAUSE_STATUS_UNALIGNED,
  // The storage holds no such state: `…_create` was not called on it, or failed.
  UNPAUSE_STATUS_NOT_CREATED,
  // There is no mechanism of this kind and name.
  UNPAUSE_STATUS_UNKNOWN_MECHANISM,
  // The mechanism has no parameter of this name, or none with this number.
  UNPAUSE_STATUS_UNKNOWN_PARAMETER,
  // The value is more than the parameter, the argument or the field of a frame can hold, or none of its
  // choices.
  UNPAUSE_STATUS_OUT_OF_RANGE,
  // The configuration is one of another kind of mechanism.
  UNPAUSE_STATUS_WRONG_KIND,
  // The bytes are no well-formed frame, or a checksum is wrong.
  UNPAUSE_STATUS_MALFORMED,
  // The frame is well-formed, as far as it was read, but of a protocol or with a tag that
  // `unpause_frame` has no place for.
  UNPAUSE_STATUS_UNKNOWN_FRAME,
  // The buffer is too short for the frame.
  UNPAUSE_STATUS_BUFFER_TOO_SHORT,
  // A fault of the library; the state that it was called with must be created anew.
  UNPAUSE_STATUS_PANIC,
} unpause_status;

// The frame to send upstream now.
typedef enum {
  // None.
  UNPAUSE_PFC_ACTION_NONE,
  // A PAUSE of `unpause_pfc_ingress_state.pause_quanta`.
  UNPAUSE_PFC_ACTION_XOFF,
  // A PAUSE of time zero.
  UNPAUSE_PFC_ACTION_XON,
} unpause_pfc_action;

// Effect of an event on a transmitter.
typedef enum {
  // Nothing that the queue need know.
  UNPAUSE_PFC_CHANGE_NONE,
  // It must stop after the frame being sent.
  UNPAUSE_PFC_CHANGE_PAUSED,
  // It may transmit again.
  UNPAUSE_PFC_CHANGE_RESUMED,
} unpause_pfc_change;

// A kind of mechanism.
typedef enum {
  // Marks, drops or reports packets at a switch queue.
  UNPAUSE_KIND_CONGESTION_POINT,
  // Feedback from the receiver of a flow to its sender.
  UNPAUSE_KIND_NOTIFICATION_POINT,
  // How the sender of a flow sets its rate and its window.
  UNPAUSE_KIND_CONGESTION_CONTROL,
  // Who may transmit at all: PFC.
  UNPAUSE_KIND_FLOW_CONTROL,
  // The path of each packet of a flow.
  UNPAUSE_KIND_SPRAYING,
  // How the sender of a sprayed flow sets its window: NSCC.
  UNPAUSE_KIND_SPRAYED_WINDOW,
} unpause_kind;

// The decision about the current packet.
typedef enum {
  // Nothing.
  UNPAUSE_VERDICT_KIND_PASS,
  // Set Congestion Experienced.
  UNPAUSE_VERDICT_KIND_MARK_CE,
  // Drop it.
  UNPAUSE_VERDICT_KIND_DROP,
  // Leave it as it is, and send `notification` to its source; with `mode` "input-occupancy-det" or "-rand"
  // to that of another packet in the buffer.
  UNPAUSE_VERDICT_KIND_NOTIFY,
} unpause_verdict_kind;

// The content of a notification to the sender of a flow.
typedef enum {
  // There is none.
  UNPAUSE_NOTIFICATION_KIND_NONE,
  // DCQCN's CNP: the flow had marked packets.
  UNPAUSE_NOTIFICATION_KIND_CNP,
  // PCN's CNP: increase.
  UNPAUSE_NOTIFICATION_KIND_PCN_INCREASE,
  // PCN's CNP: decrease to `rec_rate`.
  UNPAUSE_NOTIFICATION_KIND_PCN_DECREASE,
  // A congestion notification message of 802.1Qau.
  UNPAUSE_NOTIFICATION_KIND_QCN,
} unpause_notification_kind;

// How the network said that it is overloaded.
typedef enum {
  // By a mark, the first of a round trip: to be answered like a loss.
  UNPAUSE_LOSS_MARK,
  // By a lost packet; later ones have arrived.
  UNPAUSE_LOSS_PACKET,
  // By silence: the retransmission timer has run out.
  UNPAUSE_LOSS_TIMEOUT,
  // By silence, as before: nothing was acknowledged since.
  UNPAUSE_LOSS_TIMEOUT_AGAIN,
} unpause_loss;

// The echo of a packet.
typedef enum {
  // It arrived without a mark.
  UNPAUSE_ECHO_CLEAR,
  // It arrived, marked Congestion Experienced.
  UNPAUSE_ECHO_MARKED,
  // Others show that it was lost.
  UNPAUSE_ECHO_LOST,
  // Nothing came back before the retransmission timeout.
  UNPAUSE_ECHO_TIMEOUT,
} unpause_echo;

// Contents of a frame.
typedef enum {
  // 802.3x PAUSE for `quanta[0]`.
  UNPAUSE_FRAME_KIND_PAUSE,
  // 802.1Qbb PFC: priority n for `quanta[n]`, if bit n of `classes` is set.
  UNPAUSE_FRAME_KIND_PFC,
  // RoCEv2 data: operation `opcode`, `payload`.
  UNPAUSE_FRAME_KIND_DATA,
  // RoCEv2 acknowledgement: everything up to `psn` has arrived.
  UNPAUSE_FRAME_KIND_ACK,
  // RoCEv2 negative acknowledgement: send again from `psn` on.
  UNPAUSE_FRAME_KIND_NAK,
  // RoCEv2 congestion notification packet, with PCN's `rec_rate` or 0.
  UNPAUSE_FRAME_KIND_CNP,
} unpause_frame_kind;

// A mechanism with its parameters.
typedef struct {
  uint64_t opaque[16];
} unpause_config;

// Describes a parameter. Its strings stay valid.
typedef struct {
  // As `unpause_config_set` takes it.
  const char *name;
  // Unit of its value: "ps", "bit/s", "bytes", "2^-32", "1"; or "choice".
  const char *unit;
  // Its value; 0 if it is not set.
  uint64_t value;
  // False while another parameter is set that stands for the same.
  bool is_set;
} unpause_parameter;

// The congestion control of one flow, at its sender.
typedef struct {
  uint64_t opaque[64];
} unpause_congestion_control;

// Limits of a sender.
typedef struct {
  // Packets leave no faster.
  uint64_t rate_bps;
  // No more bytes are in flight; `UNPAUSE_NO_WINDOW`: any number.
  uint64_t window_bytes;
  // Where slow start ends; the largest number before the first congestion, or if there is none.
  uint64_t ssthresh_bytes;
  // When to call `unpause_congestion_control_on_timer`; `UNPAUSE_NEVER` when no timer runs.
  uint64_t timer_ps;
  // Send bursts of this many bytes at line rate, pace and measure per burst; 0: per packet.
  uint32_t burst_bytes;
  // Send data ECN-capable over TCP, because marks are answered.
  bool ecn_capable;
} unpause_allowance;

// A message to the sender of a flow.
typedef struct {
  // An `unpause_notification_kind`.
  uint32_t kind;
  // PCN's receive rate in units of the notification point's `rec_rate_unit`; else 0.
  uint32_t rec_rate;
  // QCN: equilibrium less present queue length in bytes; else 0.
  int32_t q_offset;
  // QCN: present queue length less that of the sample before, in bytes; else 0.
  int32_t q_delta;
  // QCN: quantised feedback, 0 to 63; else 0.
  uint8_t qfb;
} unpause_notification;

// In-band telemetry that a switch on the path writes into a packet when it leaves.
typedef struct {
  // When.
  uint64_t time_ps;
  // Bytes that the port had sent until then.
  uint64_t tx_bytes;
  // Bytes in its queue.
  uint64_t queue_bytes;
  // Rate of its link.
  uint64_t rate_bps;
} unpause_hop;

// An acknowledgement.
typedef struct {
  // When it came.
  uint64_t now_ps;
  // How long after its packet or burst was sent, less the time that sending took; `UNPAUSE_NEVER` if that
  // was not measured.
  uint64_t rtt_ps;
  // Bytes that it acknowledges; of a duplicate, those of the packet that caused it.
  uint64_t bytes;
  // All bytes of the flow before this one have arrived, these included.
  uint64_t acknowledged;
  // The byte sent next: the first never sent, or after going back one that is sent again.
  uint64_t sent;
  // Telemetry of the hops, in order; may be null if they write none.
  const unpause_hop *hops;
  // How many, at most `UNPAUSE_MOST_HOPS`.
  size_t hop_count;
  // It tells of a mark.
  bool ce;
  // The window may grow: it has held the sender back, and no loss is being repaired.
  bool may_grow;
} unpause_ack;

// The congestion point of one (egress port, priority).
typedef struct {
  uint64_t opaque[32];
} unpause_congestion_point;

// The properties of a packet that a congestion point reads.
typedef struct {
  // When it entered the queue.
  uint64_t enqueued_at_ps;
  // Size, as the queue counts it.
  uint32_t bytes;
  // It may be marked: its ECN field is not Not-ECT.
  bool ect;
} unpause_packet;

// The queue of one (egress port, priority).
typedef struct {
  // Bytes waiting.
  uint64_t bytes;
  // Packets waiting.
  uint32_t packets;
} unpause_queue;

// The decision about the current packet.
typedef struct {
  // An `unpause_verdict_kind`.
  uint32_t kind;
  // With `UNPAUSE_VERDICT_KIND_NOTIFY`; else of kind none.
  unpause_notification notification;
} unpause_verdict;

// Accounting of one (ingress port, priority): the sender of PAUSE.
typedef struct {
  uint64_t opaque[12];
} unpause_pfc_ingress;

// State of an ingress.
typedef struct {
  // Bytes held.
  uint64_t bytes;
  // When to call `unpause_pfc_ingress_on_timer`; `UNPAUSE_NEVER` while the peer may send.
  uint64_t timer_ps;
  // How long a PAUSE asks for, as its frame says it.
  uint16_t pause_quanta;
  // The peer has been told to stop.
  bool is_xoff;
} unpause_pfc_ingress_state;

// One (egress port, priority): the transmitter that is stopped.
typedef struct {
  uint64_t opaque[6];
} unpause_pfc_egress;

// State of a transmitter.
typedef struct {
  // When to call `unpause_pfc_egress_on_timer`; `UNPAUSE_NEVER` when no pause runs.
  uint64_t timer_ps;
  // It must not send.
  bool is_paused;
} unpause_pfc_egress_state;

// A frame without its FCS. Fields that its kind has not are 0 when it is read and without effect when it is
// written.
typedef struct {
  // An `unpause_frame_kind`.
  uint32_t kind;
  // PCN's receive rate, in units of its notification point's `rec_rate_unit`.
  uint32_t rec_rate;
  // Queue pair that it goes to, 24 bits.
  uint32_t destination_qp;
  // Packet sequence number, 24 bits.
  uint32_t psn;
  // Message sequence number of an acknowledgement, 24 bits.
  uint32_t msn;
  // UDP's source port.
  uint16_t source_port;
  // Pause times in quanta of 512 bit times.
  uint16_t quanta[8];
  // Priorities whose `quanta` count, a bit each.
  uint8_t classes;
  // Destination address; ignored when PAUSE and PFC are written, which go to 01-80-C2-00-00-01.
  uint8_t destination_mac[6];
  // Source address.
  uint8_t source_mac[6];
  // IPv4 source.
  uint8_t source_ip[4];
  // IPv4 destination.
  uint8_t destination_ip[4];
  // Differentiated services code point, 0 to 63.
  uint8_t dscp;
  // 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 Congestion Experienced.
  uint8_t ecn;
  // Time to live.
  uint8_t ttl;
  // Operation of data: 0x00, 0x01, 0x02, 0x04 are first, middle, last, only packet of a SEND.
  uint8_t opcode;
  // Backward explicit congestion notification.
  bool becn;
  // An acknowledgement is asked for.
  bool ack_request;
  // Payload of data; of a frame that was read, it points into its bytes.
  const uint8_t *payload;
  // How many bytes.
  size_t payload_bytes;
} unpause_frame;

// The notification point of one flow, at its receiver.
typedef struct {
  uint64_t opaque[16];
} unpause_notification_point;

// NSCC at the sender of one flow.
typedef struct {
  uint64_t opaque[36];
} unpause_nscc;

// The state of NSCC.
typedef struct {
  // No more bytes are in flight.
  uint64_t window_bytes;
  // The shortest round trip seen.
  uint64_t base_rtt_ps;
  // The average queuing delay.
  uint64_t average_delay_ps;
} unpause_nscc_state;

// An acknowledgement, as NSCC receives it.
typedef struct {
  // When it came.
  uint64_t now_ps;
  // Time since the packet that caused it was sent; `UNPAUSE_NEVER` if not known, as after a retransmission.
  uint64_t rtt_ps;
  // By how much the bytes have grown that the receiver says it has received.
  uint64_t bytes;
  // Bytes in flight, without those acknowledged.
  uint64_t in_flight;
  // Share of the window for these bytes that the receiver leaves to the sender, in 255ths; 255: all of it.
  uint8_t kept;
  // The packet that caused it was marked.
  bool marked;
} unpause_nscc_ack;

// A switch has trimmed a packet, and its receiver says so.
typedef struct {
  // When it came.
  uint64_t now_ps;
  // Time since the packet was sent; `UNPAUSE_NEVER` if not known.
  uint64_t rtt_ps;
  // Size of the packet as it was sent.
  uint64_t bytes;
  // Bytes in flight, with those of the packet.
  uint64_t in_flight;
  // The last switch has trimmed it, and the receiver's credits slow the senders: the window need not shrink.
  bool credited;
} unpause_nscc_nack;

// The entropy values of one flow, at its sender.
typedef struct {
  uint64_t opaque[24];
} unpause_spraying;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Name of mechanism `index` of a kind, counted from 0; null beyond the last. `kind` is an `unpause_kind`.
const char *unpause_mechanism_name(uint32_t kind, uint32_t index);

// Chooses a mechanism, "pcn" say, with its default parameters. `kind` is an `unpause_kind`.
unpause_status unpause_config_create(unpause_config *config, uint32_t kind, const char *mechanism);

// Sets a parameter, named as in the mechanism's source and in scenario files, in its unit.
unpause_status unpause_config_set(unpause_config *config, const char *parameter, uint64_t value);

// Sets a parameter that is a choice, by name: "mark_basis" to "enqueue-before", say.
unpause_status unpause_config_choose(unpause_config *config, const char *parameter, const char *choice);

// Says what parameter `index` is, counted from 0; `UNPAUSE_STATUS_UNKNOWN_PARAMETER` beyond the last.
unpause_status unpause_config_parameter(const unpause_config *config,
                                        uint32_t index,
                                        unpause_parameter *parameter);

// Name of the value `choice` of parameter `index`, as `unpause_config_choose` takes it; null beyond the
// last, and of a parameter that is no choice.
const char *unpause_config_choice_name(const unpause_config *config, uint32_t index, uint32_t choice);

// A flow that starts on a port of `line_rate_bps` with full packets of `packet_bytes`; `initial_window` in
// bytes, `UNPAUSE_NO_WINDOW` leaves it to the mechanism. What it draws follows from `seed` alone.
unpause_status unpause_congestion_control_create(unpause_congestion_control *control,
                                                 const unpause_config *config,
                                                 uint64_t line_rate_bps,
                                                 uint32_t packet_bytes,
                                                 uint64_t initial_window,
                                                 uint64_t seed);

// The limits of the sender now.
unpause_status unpause_congestion_control_allowance(const unpause_congestion_control *control,
                                                    unpause_allowance *allowance);

// A notification has arrived; those of other mechanisms are ignored.
unpause_status unpause_congestion_control_on_notification(unpause_congestion_control *control,
                                                          uint64_t now_ps,
                                                          const unpause_notification *notification);

// An acknowledgement has arrived. What it says of a loss, tell afterwards by
// `unpause_congestion_control_on_loss`.
unpause_status unpause_congestion_control_on_ack(unpause_congestion_control *control, const unpause_ack *ack);

// There was a loss, an `unpause_loss`, while this many bytes were in flight; `window` is that in force until
// then, of use in timeouts alone.
unpause_status unpause_congestion_control_on_loss(unpause_congestion_control *control,
                                                  uint64_t now_ps,
                                                  uint32_t loss,
                                                  uint64_t in_flight,
                                                  uint64_t window);

// A lost packet is repaired. A window above `at_most` bytes would let a burst go.
unpause_status unpause_congestion_control_on_recovered(unpause_congestion_control *control, uint64_t at_most);

// The flow has sent `bytes`; `backlogged` when it has more to send.
unpause_status unpause_congestion_control_on_sent(unpause_congestion_control *control,
                                                  uint64_t now_ps,
                                                  uint32_t bytes,
                                                  bool backlogged);

// Runs every timer due at or before `now_ps`.
unpause_status unpause_congestion_control_on_timer(unpause_congestion_control *control, uint64_t now_ps);

// A congestion point with an empty queue. What it draws follows from `seed` alone.
unpause_status unpause_congestion_point_create(unpause_congestion_point *point,
                                               const unpause_config *config,
                                               uint64_t seed);

// A packet has joined the queue; `queue` includes it.
unpause_status unpause_congestion_point_on_enqueue(unpause_congestion_point *point,
                                                   uint64_t now_ps,
                                                   const unpause_packet *packet,
                                                   unpause_queue queue,
                                                   unpause_verdict *verdict);

// A packet has been taken for transmission; `queue` is what stays behind.
unpause_status unpause_congestion_point_on_dequeue(unpause_congestion_point *point,
                                                   uint64_t now_ps,
                                                   const unpause_packet *packet,
                                                   unpause_queue queue,
                                                   unpause_verdict *verdict);

// The peer's PAUSE has taken effect on the queue.
unpause_status unpause_congestion_point_on_pause(unpause_congestion_point *point, uint64_t now_ps);

// The queue may transmit again: XON, or a PAUSE that ran out.
unpause_status unpause_congestion_point_on_resume(unpause_congestion_point *point,
                                                  uint64_t now_ps,
                                                  unpause_queue queue);

// An ingress on a link of this speed that holds nothing. `config` is one of `UNPAUSE_KIND_FLOW_CONTROL`.
unpause_status unpause_pfc_ingress_create(unpause_pfc_ingress *ingress,
                                          const unpause_config *config,
                                          uint64_t link_rate_bps);

// A packet has been admitted; above `xoff_bytes` its ingress asks for PAUSE.
unpause_status unpause_pfc_ingress_on_admit(unpause_pfc_ingress *ingress,
                                            uint64_t now_ps,
                                            uint32_t bytes,
                                            uint64_t xoff_bytes,
                                            unpause_pfc_action *action);

// A packet admitted earlier starts to leave, or is discarded; at `xon_bytes` the peer may go on.
unpause_status unpause_pfc_ingress_on_release(unpause_pfc_ingress *ingress,
                                              uint64_t now_ps,
                                              uint32_t bytes,
                                              uint64_t xon_bytes,
                                              unpause_pfc_action *action);

// Repeats the PAUSE when it is time.
unpause_status unpause_pfc_ingress_on_timer(unpause_pfc_ingress *ingress,
                                            uint64_t now_ps,
                                            unpause_pfc_action *action);

// The state of the ingress now.
unpause_status unpause_pfc_ingress_ask(const unpause_pfc_ingress *ingress, unpause_pfc_ingress_state *state);

// A transmitter on a link of this speed that may send.
unpause_status unpause_pfc_egress_create(unpause_pfc_egress *egress, uint64_t link_rate_bps);

// A PAUSE for its priority takes effect; 0 quanta are XON.
unpause_status unpause_pfc_egress_on_frame(unpause_pfc_egress *egress,
                                           uint64_t now_ps,
                                           uint16_t quanta,
                                           unpause_pfc_change *result);

// Ends a pause that has run out.
unpause_status unpause_pfc_egress_on_timer(unpause_pfc_egress *egress,
                                           uint64_t now_ps,
                                           unpause_pfc_change *result);

// The state of the transmitter now.
unpause_status unpause_pfc_egress_ask(const unpause_pfc_egress *egress, unpause_pfc_egress_state *state);

// The longest that 802.3 lets a peer take to react to a PAUSE.
uint64_t unpause_pfc_reaction_time_ps(uint64_t rate_bps);

// Bytes that can still arrive once XOFF has been decided, over a cable of so much propagation delay; sizes
// are those on the wire.
uint64_t unpause_pfc_headroom_bytes(uint64_t rate_bps,
                                    uint64_t propagation_ps,
                                    uint64_t mtu_bytes,
                                    uint64_t pfc_frame_bytes,
                                    uint64_t reaction_ps);

// Reads a frame of any origin: nothing beyond `length` is read, and every checksum that it carries is
// checked.
unpause_status unpause_frame_parse(const uint8_t *frame_bytes, size_t length, unpause_frame *frame);

// Writes a frame, with its checksums and padding, at the beginning of `buffer`; `length` is how long it is.
// IPv4's identification, the partition key and the like are those that `unpause-wire` sends by default.
unpause_status unpause_frame_build(const unpause_frame *frame,
                                   uint8_t *buffer,
                                   size_t capacity,
                                   size_t *length);

// Sets Congestion Experienced in an IPv4 frame, in place, and its header's checksum; RoCEv2's ICRC does not
// cover either. A frame that may not be marked (Not-ECT) is refused as out of range.
unpause_status unpause_frame_mark_ce(uint8_t *frame_bytes, size_t length);

// A flow of which nothing has arrived yet.
unpause_status unpause_notification_point_create(unpause_notification_point *point,
                                                 const unpause_config *config);

// A data packet of the flow has arrived, marked Congestion Experienced or not; `notification` is what to
// send.
unpause_status unpause_notification_point_on_data(unpause_notification_point *point,
                                                  uint64_t now_ps,
                                                  uint32_t bytes,
                                                  bool ce,
                                                  unpause_notification *notification);

// Call when the timer is due; `notification` is what to send.
unpause_status unpause_notification_point_on_timer(unpause_notification_point *point,
                                                   uint64_t now_ps,
                                                   unpause_notification *notification);

// When the timer is due; `UNPAUSE_NEVER` when it is off.
unpause_status unpause_notification_point_next_timer(const unpause_notification_point *point,
                                                     uint64_t *timer_ps);

// A flow that has sent nothing, on a path of this round trip or less. `config` is one of `UNPAUSE_KIND_SPRAYED_WINDOW`.
unpause_status unpause_nscc_create(unpause_nscc *nscc,
                                   const unpause_config *config,
                                   uint64_t base_rtt_ps);

// Its state now, above all its window.
unpause_status unpause_nscc_ask(const unpause_nscc *nscc, unpause_nscc_state *state);

// An acknowledgement has come.
unpause_status unpause_nscc_on_ack(unpause_nscc *nscc, const unpause_nscc_ack *ack);

// A switch has trimmed a packet.
unpause_status unpause_nscc_on_nack(unpause_nscc *nscc, const unpause_nscc_nack *nack);

// The retransmission timer of a packet of this size has run out.
unpause_status unpause_nscc_on_timeout(unpause_nscc *nscc, uint64_t bytes);

// A flow that has sent nothing. `config` is one of `UNPAUSE_KIND_SPRAYING`; what it draws follows from `seed` alone.
unpause_status unpause_spraying_create(unpause_spraying *spraying,
                                       const unpause_config *config,
                                       uint64_t seed);

// The entropy value of the packet that is sent next, below the number of paths.
unpause_status unpause_spraying_next(unpause_spraying *spraying, uint64_t now_ps, uint16_t *value);

// Reports the echo (an `unpause_echo`) of a packet with this value.
unpause_status unpause_spraying_on_echo(unpause_spraying *spraying,
                                        uint64_t now_ps,
                                        uint16_t value,
                                        uint32_t echo);

// A sentence for a status, for people; never null.
const char *unpause_status_text(uint32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNPAUSE_H */
